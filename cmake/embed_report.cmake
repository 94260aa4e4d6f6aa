# Writes the report's style sheet and script into a C++ source as raw strings, each with its hash:
# the page's content security policy lets in nothing else. FILES: the style sheet, and the files that
# make the script, in order; OUTPUT: the source.
set(style "")
set(script "")
foreach(file IN LISTS FILES)
  file(READ ${file} part)
  if(file MATCHES "css$")
    string(APPEND style "${part}")
  else()
    string(APPEND script "${part}")
  endif()
endforeach()
string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
file(WRITE ${OUTPUT} "#include \"page/pages.hpp\"

namespace qkv::inline page {

PageAsset report_style() { return {R\"asset(${style})asset\", \"${style_hash}\"}; }
PageAsset report_script() { return {R\"asset(${script})asset\", \"${script_hash}\"}; }

}  // namespace qkv::inline page
")
