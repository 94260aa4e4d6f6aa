# The binary, its man page, where help2man can make it of the help, and completions.
include(GNUInstallDirs)
install(TARGETS qkv)
set(man_page ${CMAKE_CURRENT_BINARY_DIR}/qkv.1)
find_program(QKV_HELP2MAN help2man)
if(QKV_HELP2MAN)
  install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/tools/man_page.sh\" \"$<TARGET_FILE:qkv>\"
                                OUTPUT_FILE \"${man_page}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES completions/qkv.bash RENAME qkv
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/_qkv DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/qkv.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Who made it, and the licences of the libraries in it.
install(FILES LICENSE CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(package IN LISTS QKV_LIBRARY_PACKAGES)
  install(FILES /usr/share/doc/${package}/copyright OPTIONAL
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/libraries RENAME ${package})
endforeach()
