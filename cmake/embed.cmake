# Files that become part of the binary: cmake/GENERATOR.cmake writes them into a source of `target`.
function(qkv_embed target generator)
  set(script ${PROJECT_SOURCE_DIR}/cmake/${generator}.cmake)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${generator}.cpp)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DOUTPUT=${source} -P ${script}
    DEPENDS ${ARGN} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
