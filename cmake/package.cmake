# `cpack` in a build directory makes the Debian package and the tarball, each with its SHA-256 beside
# it; ./dev package does so from a release build and looks at them with lintian.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME qkv)
set(CPACK_PACKAGE_VENDOR "The qkv authors")
set(CPACK_PACKAGE_CONTACT "The qkv authors <maintainers@users.noreply.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "walks through attention and checks hand calculations")
set(CPACK_PACKAGE_DESCRIPTION
    "qkv walks a person through the attention mechanism of transformers, one
matrix at a time, and checks matrices that were worked out by hand: it finds
the first wrong number and names the mistake that makes it. It also compares
the arrays of programs step by step, writes worksheets and pages, and walks
trained models.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PACKAGE_FILE_NAME qkv-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # of a static binary: none
if(QKV_STATIC)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
endif()
# What only a Debian package has in another form.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake)
include(CPack)
