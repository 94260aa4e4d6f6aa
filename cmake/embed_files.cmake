# Writes files into a C++ source, bytes and all: the assembler copies them. FILES: the files; OUTPUT:
# the source.
set(blobs "")
set(externs "")
set(entries "")
set(count 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  set(symbol qkv_file_${count})
  math(EXPR count "${count} + 1")
  string(APPEND blobs
         "asm(\".section .rodata\\n.balign 16\\n.global ${symbol}, ${symbol}_end\\n${symbol}:\\n\"\n"
         "    \".incbin \\\"${file}\\\"\\n${symbol}_end:\\n.previous\");\n")
  string(APPEND externs "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
  string(APPEND entries
         "      {\"${name}\", {${symbol}, static_cast<std::size_t>(${symbol}_end - ${symbol})}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include <vector>

#include \"lesson/library.hpp\"

${blobs}
${externs}
namespace qkv::inline lesson {

std::span<const BuiltInFile> built_in_files() {
  static const std::vector<BuiltInFile> files = {
${entries}  };
  return files;
}

}  // namespace qkv::inline lesson
")
