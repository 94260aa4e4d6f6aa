# Before cpack packs: the files of a Debian package as Debian's policy wants them. Others are left.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(doc ${share}/doc/qkv)

file(READ ${doc}/LICENSE licence)
string(REGEX REPLACE "^MIT License\n\nCopyright[^\n]*\n\n" "" licence "${licence}")
string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n([^\n])" "\n \\1" licence "\n${licence}")
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: qkv
Comment: The binary has libraries in it; libraries/ beside this file has their
 licences, and qkv --version --verbose prints what they are.

Files: *
Copyright: 2026 The qkv authors
License: Expat

License: Expat${licence}")
file(REMOVE ${doc}/LICENSE)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)

# The date of the version, as Debian's changelogs write it.
file(READ ${doc}/changelog changes)
string(REGEX MATCH "\n## [0-9.]+ [(]([0-9-]+)[)]\n" newest "${changes}")
set(date ${CMAKE_MATCH_1})
execute_process(COMMAND date -R -u -d ${date} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
file(WRITE ${doc}/changelog.Debian "qkv (${version}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; changelog.gz has its news.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(WRITE ${share}/lintian/overrides/qkv "# One binary that needs no other file is what this package is for.
qkv: statically-linked-binary [usr/bin/qkv]
qkv: embedded-library *
qkv: shared-library-lacks-prerequisites [usr/bin/qkv]
")
execute_process(COMMAND gzip -9nf ${doc}/changelog ${doc}/changelog.Debian ${share}/man/man1/qkv.1
                COMMAND_ERROR_IS_FATAL ANY)
