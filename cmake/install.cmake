# The binary, and what it writes of itself: the man page and the completions come from the very
# options that it reads, when it is installed.
include(GNUInstallDirs)
install(TARGETS qkv)

function(qkv_install_generated kind file destination)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/generated/${file})
  install(CODE "file(MAKE_DIRECTORY \"${CMAKE_CURRENT_BINARY_DIR}/generated\")
    execute_process(COMMAND \"$<TARGET_FILE:qkv>\" --generate ${kind} OUTPUT_FILE \"${path}\"
                    COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${path} DESTINATION ${destination})
endfunction()
qkv_install_generated(man qkv.1 ${CMAKE_INSTALL_MANDIR}/man1)
qkv_install_generated(complete-bash qkv ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
qkv_install_generated(complete-zsh _qkv ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
qkv_install_generated(complete-fish qkv.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Who made it, and the licences of the libraries in it.
install(FILES LICENSE CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(package IN LISTS QKV_LIBRARY_PACKAGES)
  install(FILES /usr/share/doc/${package}/copyright OPTIONAL
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/libraries RENAME ${package})
endforeach()
