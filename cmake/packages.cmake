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
target_compile_definitions(qkv_flags INTERFACE QKV_VERSION="${PROJECT_VERSION}")
target_include_directories(qkv_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
