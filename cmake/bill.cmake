# What is linked into the binary, as an SPDX 2.3 bill of materials: `qkv --version --verbose` prints
# it. Versions are those of the Debian packages that are there, else what CMake or the compiler says.
set(bill_parts "")
set(bill_relations "")
set(bill_packages "")

# A library: its name, the Debian package that brings it here, the version known besides, its licence
# as SPDX writes it, its archive (empty: headers alone), and its home.
function(qkv_part name package version licence archive home)
  set(found "${version}")
  set(reference "")
  find_program(DPKG_QUERY dpkg-query)
  if(DPKG_QUERY)
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${source:Package} \${source:Version}" ${package}
                    OUTPUT_VARIABLE said ERROR_QUIET RESULT_VARIABLE missing)
    if(missing EQUAL 0 AND said MATCHES "^([^ ]+) (.+)$")
      set(found ${CMAKE_MATCH_2})
      string(REPLACE "+" "%2B" escaped "${CMAKE_MATCH_2}")
      string(REPLACE ":" "%3A" escaped "${escaped}")
      set(purl "pkg:deb/debian/${CMAKE_MATCH_1}@${escaped}?arch=source")
      set(reference "ExternalRef: PACKAGE-MANAGER purl ${purl}\n")
    endif()
  endif()
  if(found STREQUAL "")
    set(found NOASSERTION)
  endif()
  set(file "")
  set(relation CONTAINS)  # headers become part of our own code
  if(archive)
    set(file "PackageFileName: ${archive}\n")
    set(relation DYNAMIC_LINK)
    if(QKV_STATIC)
      set(relation STATIC_LINK)
    endif()
  endif()
  string(REGEX REPLACE "[^A-Za-z0-9.-]" "-" id ${name})
  string(APPEND bill_parts "
PackageName: ${name}
SPDXID: SPDXRef-${id}
PackageVersion: ${found}
${file}PackageDownloadLocation: NOASSERTION
PackageHomePage: ${home}
FilesAnalyzed: false
PackageLicenseConcluded: ${licence}
PackageLicenseDeclared: ${licence}
PackageCopyrightText: NOASSERTION
${reference}PrimaryPackagePurpose: LIBRARY
")
  string(APPEND bill_relations "Relationship: SPDXRef-qkv ${relation} SPDXRef-${id}\n")
  list(APPEND bill_packages ${package})
  set(bill_packages ${bill_packages} PARENT_SCOPE)
  set(bill_parts "${bill_parts}" PARENT_SCOPE)
  set(bill_relations "${bill_relations}" PARENT_SCOPE)
endfunction()

set(gcc ${CMAKE_CXX_COMPILER_VERSION})
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(gcc "")
endif()
set(gcc_licence "GPL-3.0-or-later WITH GCC-exception-3.1")
set(gcc_home https://gcc.gnu.org)
qkv_part(OpenBLAS libopenblas-pthread-dev "" BSD-3-Clause libopenblas.a https://www.openblas.net)
qkv_part(PCRE2 libpcre2-dev "" BSD-3-Clause libpcre2-8.a https://www.pcre.org)
qkv_part(utf8proc libutf8proc-dev "" "MIT AND Unicode-DFS-2015" libutf8proc.a
         https://juliastrings.github.io/utf8proc)
qkv_part(zlib zlib1g-dev "" Zlib libz.a https://zlib.net)
qkv_part(nettle nettle-dev "" "LGPL-3.0-or-later OR GPL-2.0-or-later" libnettle.a
         https://www.lysator.liu.se/~nisse/nettle)
qkv_part(libgfortran libgfortran-12-dev "${gcc}" "${gcc_licence}" libgfortran.a ${gcc_home})
qkv_part(libquadmath libgcc-12-dev "${gcc}" LGPL-2.0-or-later libquadmath.a ${gcc_home})
qkv_part(libstdc++ libstdc++-12-dev "${gcc}" "${gcc_licence}" libstdc++.a ${gcc_home})
qkv_part(libgcc libgcc-12-dev "${gcc}" "${gcc_licence}" libgcc.a ${gcc_home})
qkv_part(glibc libc6-dev "" LGPL-2.1-or-later libc.a https://www.gnu.org/software/libc)
qkv_part(CLI11 libcli11-dev "${CLI11_VERSION}" BSD-3-Clause "" https://github.com/CLIUtils/CLI11)
qkv_part(fast_float libfast-float-dev "${FastFloat_VERSION}" "MIT OR Apache-2.0" ""
         https://github.com/fastfloat/fast_float)
qkv_part(fmt libfmt-dev "${fmt_VERSION}" MIT "" https://fmt.dev)
qkv_part(nlohmann-json nlohmann-json3-dev "${nlohmann_json_VERSION}" MIT ""
         https://json.nlohmann.me)
qkv_part(tomlplusplus libtomlplusplus-dev "${tomlplusplus_VERSION}" MIT ""
         https://marzer.github.io/tomlplusplus)
qkv_part(xtensor libxtensor-dev "${xtensor_VERSION}" BSD-3-Clause "" https://xtensor.readthedocs.io)
qkv_part(xtensor-blas libxtensor-blas-dev "${xtensor-blas_VERSION}" BSD-3-Clause ""
         https://xtensor-blas.readthedocs.io)
qkv_part(xtl xtl-dev "${xtl_VERSION}" BSD-3-Clause "" https://xtl.readthedocs.io)
list(REMOVE_DUPLICATES bill_packages)

# The same sources and packages give the same document: its date is that of the version, its name in
# the world comes from what it says.
file(READ ${PROJECT_SOURCE_DIR}/CHANGELOG.md changes)
string(REGEX MATCH "\n## [0-9.]+ [(]([0-9-]+)[)]\n" newest "${changes}")
set(date ${CMAKE_MATCH_1})
string(SHA256 digest "${PROJECT_VERSION}${date}${bill_parts}${bill_relations}")
string(SUBSTRING ${digest} 0 32 digest)
set(bill "SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: qkv-${PROJECT_VERSION}
DocumentNamespace: https://spdx.org/spdxdocs/qkv-${PROJECT_VERSION}-${digest}
Creator: Tool: qkv-${PROJECT_VERSION}-cmake
Created: ${date}T00:00:00Z

PackageName: qkv
SPDXID: SPDXRef-qkv
PackageVersion: ${PROJECT_VERSION}
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: false
PackageLicenseConcluded: MIT
PackageLicenseDeclared: MIT
PackageCopyrightText: Copyright (c) 2026 The qkv authors
PrimaryPackagePurpose: APPLICATION
${bill_parts}
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-qkv
${bill_relations}")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/qkv.spdx CONTENT "${bill}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/bill.cpp CONTENT "#include \"cli/generated_files.hpp\"

namespace qkv::inline cli {

std::string_view sbom() {
  return R\"spdx(@bill@)spdx\";
}

}  // namespace qkv::inline cli
" @ONLY)
