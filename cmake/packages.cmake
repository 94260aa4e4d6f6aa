# What qkv is built from, all of it in Debian. Header-only libraries are asked for here too, so that
# one that is missing is named before anything is compiled.
find_package(CLI11 REQUIRED)
find_package(FastFloat REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(xtensor REQUIRED)
find_package(xtensor-blas REQUIRED)

if(QKV_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
find_library(NETTLE nettle REQUIRED)
find_library(OPENBLAS openblas REQUIRED)
find_library(PCRE2 pcre2-8 REQUIRED)
find_library(UTF8PROC utf8proc REQUIRED)
find_library(ZLIB z REQUIRED)

# xtensor-blas would link the first shared BLAS that is installed.
set(blas ${OPENBLAS})
if(QKV_STATIC)
  list(APPEND blas gfortran quadmath m)
endif()
set_target_properties(xtensor-blas PROPERTIES INTERFACE_LINK_LIBRARIES "${blas}")

# The flags of every file. No fused multiply-add unless the code asks for it: a lesson has the same
# bits on every machine.
add_library(qkv_flags INTERFACE)
target_compile_options(qkv_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           -ffp-contract=off)
if(QKV_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # To Clang a name of one file shadows that of another beside it; alone, each is checked.
  target_compile_options(qkv_flags INTERFACE -Wno-shadow)
endif()
target_compile_definitions(qkv_flags INTERFACE QKV_VERSION="${PROJECT_VERSION}")
target_include_directories(qkv_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)

# What is linked in, with versions, for `qkv --version --verbose`. Debian's packages say it for all of
# it, with their own fixes; elsewhere CMake's packages say it for some.
set(QKV_LIBRARY_PACKAGES libopenblas-pthread-dev libutf8proc-dev libpcre2-dev zlib1g-dev nettle-dev
    libgfortran-12-dev libgcc-12-dev libstdc++-12-dev libc6-dev libcli11-dev libfast-float-dev
    libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libxtensor-dev libxtensor-blas-dev xtl-dev)
execute_process(
  COMMAND dpkg-query -W -f "\${source:Package} \${source:Version}\n" ${QKV_LIBRARY_PACKAGES}
  OUTPUT_VARIABLE libraries ERROR_QUIET)
if(NOT libraries)
  foreach(name CLI11 FastFloat fmt nlohmann_json tomlplusplus xtensor xtensor-blas)
    string(APPEND libraries "${name} ${${name}_VERSION}\n")
  endforeach()
endif()
string(REPLACE "\n" ";" libraries "${libraries}")
list(REMOVE_DUPLICATES libraries)
list(REMOVE_ITEM libraries "")
list(SORT libraries)
list(JOIN libraries ", " QKV_LIBRARIES)
