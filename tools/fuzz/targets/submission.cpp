#include "directory.hpp"
#include "formats/files/read_file.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "text/strings.hpp"

namespace qkv::fuzz {
namespace {

// A zip archive or a directory as it is handed in: 00-lesson.json, then the names of three files
// with what is in them, a zero byte between them.
void call(std::string_view bytes) {
  static const OwnDirectory directory;
  directory.empty();
  if (bytes.starts_with("PK")) {
    directory.put("handed.zip", bytes);
    return check_files(*small_lesson(), directory.path() / "handed.zip");
  }
  const std::vector<std::string_view> files = parts(bytes, 7);
  if (!files[0].empty()) directory.put(manifest_name, files[0]);
  for (std::size_t i = 1; i < files.size(); i += 2) directory.put(files[i], files[i + 1]);
  try {
    check_files(*small_lesson(), directory.path());
  } catch (const InputError&) {  // then it can still be compared
  }
  compare_files(*small_lesson(), directory.path());
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
