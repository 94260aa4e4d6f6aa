# Writes the report's style sheet and script into a C++ source as raw strings, each with its hash:
# the page's content security policy lets in nothing else. STYLE: the file; SCRIPTS: the files that
# make the script, in order; OUTPUT: the source.
file(READ ${STYLE} style)
set(script "")
foreach(file IN LISTS SCRIPTS)
  file(READ ${file} part)
  string(APPEND script "${part}")
endforeach()
string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
file(WRITE ${OUTPUT} "#include \"render/report.hpp\"

namespace qkv {

PageAsset report_style() { return {R\"asset(${style})asset\", \"${style_hash}\"}; }
PageAsset report_script() { return {R\"asset(${script})asset\", \"${script_hash}\"}; }

}  // namespace qkv
")
