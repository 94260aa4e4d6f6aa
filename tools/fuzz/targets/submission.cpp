#include "check/intake/submission.hpp"
#include "check/check.hpp"
#include "check/compare/side.hpp"
#include "directory.hpp"
#include "formats/files/find_files.hpp"
#include "formats/files/manifest.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "text/error.hpp"
#include "verdicts/checked.hpp"

namespace qkv::fuzz {
namespace {

void check_directory(const std::filesystem::path& path) {
  const LoadedLesson& lesson = *small_lesson();
  const Submission submission = read_submission(path, lesson.trace);
  const CheckReport report = check_submission(lesson.lesson, lesson.trace, submission, {});
  checked_text(report, {});
  if (const auto verification_failure =
          verify_export(path, submission.list, ExportEvidence::any_exported_file)) {
    law(!verification_failure->text.empty(), "a doubt has words");
  }
}

void compare_directory(const std::filesystem::path& path) {
  const ComparedSide lesson = compared_side("small", small_lesson()->trace);
  ComparedSide side = compared_side(
      path.string(), load_arrays(path, options_of_files(lesson, ReadLimit::by_its_step)));
  adopt_names(lesson, side);
  match_layout(lesson, {}, side);
}

// A zip archive or a directory as it is handed in: 00-lesson.json, then the names of three files
// with what is in them, a zero byte between them.
void call(std::string_view bytes) {
  static const OwnDirectory directory;
  directory.empty();
  if (bytes.starts_with("PK")) {
    directory.put("handed.zip", bytes);
    return check_directory(directory.path() / "handed.zip");
  }
  const std::vector<std::string_view> files = parts(bytes, 7);
  if (!files[0].empty()) directory.put(manifest_name, files[0]);
  for (std::size_t i = 1; i < files.size(); i += 2) directory.put(files[i], files[i + 1]);
  try {
    check_directory(directory.path());
  } catch (const InputError&) {  // then it can still be compared
  }
  compare_directory(directory.path());
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
