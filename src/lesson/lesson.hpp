#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parsed_array.hpp"
#include "model/words.hpp"
#include "trace/backward.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline lesson {

/// A position in the lesson file, counted from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;

  auto operator<=>(const Place&) const = default;
};

/// A fault in a lesson file, or a possible improvement.
struct Fault {
  enum class Kind { error, advice };
  Place place;
  std::string message;
  Kind kind = Kind::error;
};

/// A piece of a lesson's prose and its position.
struct Prose {
  std::string text;
  Place place;
};

/// The prose and display settings of one step.
struct StepText {
  Place place;  ///< the step's name; place of faults of the whole step
  std::string title;  ///< empty: the operation's title
  Prose cell;  ///< the cell to explain, as `scores[cat,fat]`; empty: a typical one
  bool works_cell = true;  ///< false: the file says cell = "", for none
  bool show = true;  ///< false: the walk prints the prose without the matrix
  bool largest = false;  ///< show the largest numbers of the last row, not the matrix
  bool general = false;  ///< title, say and notice begin with prose that holds for any numbers
  Prose say;  ///< empty: the operation's prose
  Prose notice;
  ModelWords otherwise = {};  ///< a model's prose, used where the lesson's no longer holds
  std::optional<double> marks = {};  ///< marks in a class; default: one per cell
  bool is_made = false;  ///< the file does not define the step: a gradient
  Prose questions;  ///< exercises, each with its command, and the next lesson
};

/// A published result that the lesson must reproduce to its printed digits.
struct Expectation {
  std::string of;
  ParsedArray value;
  std::string source;
  Place place;
};

/// A lesson: its prose, and the recipe of its numbers.
struct Lesson {
  std::string name;  ///< of a built-in lesson, or the file's name without ".toml"
  std::string where;  ///< the file, for messages
  std::string asked;  ///< how a command names it: LESSON --text … --set …, quoted for a shell
  std::string title;
  std::string summary;
  std::string source;
  std::vector<std::string> explains;  ///< operations that it explains
  Recipe recipe;
  std::vector<std::string> unshown;  ///< givens that the walk names but does not print
  std::vector<Place> given_places;  ///< the name's place for each given of the recipe
  std::vector<StepText> texts;  ///< one per step of the recipe
  std::vector<Expectation> expectations;
  std::optional<BackwardSpec> backward = {};  ///< where its gradients start and lead
  bool changed = false;  ///< its text or numbers are not those that its prose describes
};

/// A lesson with all faults of its file.
struct ParsedLesson {
  Lesson lesson;
  std::vector<Fault> faults;
};

/// A file compiled into the program: a built-in lesson's weights.
struct BuiltInFile {
  std::string_view name;
  std::string_view bytes;
};

/// Where to find the files that a lesson names: in its directory, or in the program.
struct LessonFiles {
  LessonFiles() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a directory is what nearly all lessons have.
  LessonFiles(std::filesystem::path its_directory) : directory(std::move(its_directory)) {}
  explicit LessonFiles(std::span<const BuiltInFile> in_program) : program(in_program) {}

  std::filesystem::path directory;
  std::span<const BuiltInFile> program;

  /// Returns the bytes of a file in the program; empty if the lesson's files are not there.
  std::optional<std::string_view> built_in(std::string_view name) const;
};

/// Reads a lesson file (docs/lessons.md). `where` opens messages; `files` locates the files that it
/// names. Never throws for the file's content: that goes to the faults.
ParsedLesson read_lesson(std::string_view toml, const std::string& where, const LessonFiles& files);

/// Formats a fault: "lesson.toml:12:3: there is no op \"sofmax\"; did you mean \"softmax\"?"
std::string fault_line(const Lesson& lesson, const Fault& fault);

}  // namespace qkv::inline lesson
