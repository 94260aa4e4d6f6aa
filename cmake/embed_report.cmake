# Writes the report's style sheet and script into a C++ source as raw strings, each with its hash:
# the page's content security policy lets in nothing else. STYLE, SCRIPT: the files; OUTPUT: the
# source.
file(READ ${STYLE} style)
file(READ ${SCRIPT} script)
string(SHA256 style_hash "${style}")
string(SHA256 script_hash "${script}")
file(WRITE ${OUTPUT} "#include \"render/report.hpp\"

namespace qkv {

PageAsset report_style() { return {R\"asset(${style})asset\", \"${style_hash}\"}; }
PageAsset report_script() { return {R\"asset(${script})asset\", \"${script_hash}\"}; }

}  // namespace qkv
")
