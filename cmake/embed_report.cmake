# Writes the report's style sheet and script into a C++ source as raw strings. FILES: the style sheet, and
# the files that make the script, in order; OUTPUT: the source.
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
file(WRITE ${OUTPUT} "#include \"page/pages.hpp\"

namespace qkv::inline page {

std::string_view report_style() { return R\"asset(${style})asset\"; }
std::string_view report_script() { return R\"asset(${script})asset\"; }

}  // namespace qkv::inline page
")
