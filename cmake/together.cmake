# Compiles the sources of `target` in groups, those of one directory whose names begin alike: most of
# a compilation is the headers, and they are then read once a group. What is private to a file needs a
# name that the other files of its group neither define nor call; the compiler says where one is
# defined twice, and the dev preset compiles each file by itself.
function(qkv_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${QKV_TOGETHER} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(directory ${source} DIRECTORY)
    get_filename_component(name ${source} NAME)
    foreach(letters a-c d-g h-l m-o p-r s-z)
      if(name MATCHES "^[${letters}].*\\.cpp$")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${directory}-${letters}")
      endif()
    endforeach()
  endforeach()
endfunction()
