# The binary, and what it writes of itself: the man page and the completions come from the very
# options that it reads. They belong to `all` and to an installation; `--target qkv` does without.
include(GNUInstallDirs)
install(TARGETS qkv)

add_custom_target(qkv_generated ALL)
function(qkv_generate kind file destination)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/generated/${file})
  add_custom_command(
    OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -DQKV=$<TARGET_FILE:qkv> -DKIND=${kind} -DOUTPUT=${path}
            -P ${PROJECT_SOURCE_DIR}/cmake/generate.cmake
    DEPENDS qkv ${PROJECT_SOURCE_DIR}/cmake/generate.cmake
    VERBATIM)
  target_sources(qkv_generated PRIVATE ${path})
  install(FILES ${path} DESTINATION ${destination})
endfunction()
qkv_generate(man qkv.1 ${CMAKE_INSTALL_MANDIR}/man1)
qkv_generate(complete-bash qkv ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
qkv_generate(complete-zsh _qkv ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
qkv_generate(complete-fish qkv.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
