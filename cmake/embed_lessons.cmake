# Writes the lesson files into a C++ source as raw strings, whose length is known: Clang counts no
# more than a million letters while it compiles. FILES: the lessons; OUTPUT: the source.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WE)
  string(REGEX REPLACE "^[0-9]+-" "" name ${stem})
  file(READ ${file} toml)
  string(APPEND entries "    {\"${name}\", R\"lesson(${toml})lesson\"sv},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"lesson/library.hpp\"

namespace qkv::inline lesson {
namespace {

using namespace std::string_view_literals;

constexpr BuiltInLesson lessons[] = {
${entries}};

}  // namespace

std::span<const BuiltInLesson> built_in_lessons() { return lessons; }

}  // namespace qkv::inline lesson
")
