# What makes a mistake in qkv, or in a library, hard to turn against the person who runs it. Each is
# in the binary that users run and costs little (docs/speed.md); tests/cli/hardened.py reads them off
# it. A debug build has sanitizers instead, which know more and get along with none of this.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

# QKV_UNOPTIMISED: a target that is compiled with -O0, where the C library has no checked functions.
# QKV_SHARED_C: a program that takes the C library from the system in a static build, too.
define_property(TARGET PROPERTY QKV_UNOPTIMISED)
define_property(TARGET PROPERTY QKV_SHARED_C)
set(optimised "$<NOT:$<BOOL:$<TARGET_PROPERTY:QKV_UNOPTIMISED>>>")
set(shared_c "$<BOOL:$<TARGET_PROPERTY:QKV_SHARED_C>>")

if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  foreach(flag -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "has${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(qkv_flags INTERFACE ${flag})
    endif()
  endforeach()
  target_compile_options(qkv_flags INTERFACE
                         -U_FORTIFY_SOURCE "$<${optimised}:-D_FORTIFY_SOURCE=3>")
  target_compile_definitions(qkv_flags INTERFACE _GLIBCXX_ASSERTIONS)
  # The same bytes wherever it is built.
  target_compile_options(qkv_flags INTERFACE -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                                             -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
  target_link_options(qkv_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  if(NOT QKV_STATIC)
    target_link_options(qkv_flags INTERFACE -pie)
  endif()
endif()

if(QKV_STATIC)
  # Not by -static, whose start registers the frames that exceptions pass in a way that sorts all of
  # them when the first is thrown: 4 ms for --help, and for a wrong option.
  target_link_options(qkv_flags INTERFACE "$<IF:${shared_c},-pie,-static-pie>")
  # Half a megabyte of addresses to mend at the start becomes three kilobytes.
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs has_packed_relocations)
  if(has_packed_relocations)
    target_link_options(qkv_flags INTERFACE -Wl,-z,pack-relative-relocs)
  endif()
endif()
