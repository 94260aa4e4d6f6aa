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

/// Where in the lesson file something stands, counted from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;

  auto operator<=>(const Place&) const = default;
};

/// What is wrong (or could be better) in a lesson file.
struct Fault {
  enum class Kind { error, advice };
  Place place;
  std::string message;
  Kind kind = Kind::error;
};

/// A piece of a lesson's text and where it begins.
struct Prose {
  std::string text;
  Place place;
};

/// What the lesson says about one step of its recipe.
struct StepText {
  Place place;             ///< of the step's name, for faults of the step as a whole
  std::string title;       ///< empty where the operation's own title is true of the step
  Prose cell;              ///< the one to work out, as `scores[cat,fat]`; empty: a typical one
  bool works_cell = true;  ///< false: the file says cell = "", for none
  bool show = true;        ///< false: the walk says the words and leaves out the matrix
  bool largest = false;    ///< in place of the matrix, the largest numbers of its last row
  bool general = false;    ///< title, say and notice begin with words that are true of any numbers
  Prose say;               ///< empty where the operation's own words are to be used
  Prose notice;
  ModelWords otherwise = {};  ///< a model's own, where what the lesson says is no longer true
  std::optional<double> marks = {};  ///< what a class gets for it; without it, one for a cell
  bool is_made = false;              ///< the file does not write the step: a gradient
  Prose questions;                   ///< what to try, each with its command, and what comes next
};

/// A published result that the lesson must reproduce to its printed digits.
struct Expectation {
  std::string of;
  ParsedArray value;
  std::string source;
  Place place;
};

/// A lesson: its words, and the recipe of its numbers.
struct Lesson {
  std::string name;   ///< of a built-in lesson, or the file's name without ".toml"
  std::string where;  ///< the file as messages name it
  std::string asked;  ///< how a command names it: LESSON --text … --set …, quoted for a shell
  std::string title;
  std::string summary;
  std::string source;
  std::vector<std::string> explains;  ///< operations that it is the lesson to read about
  Recipe recipe;
  std::vector<std::string> unshown;  ///< givens that the walk names and does not print
  std::vector<Place> given_places;   ///< one for each given of the recipe: of its name
  std::vector<StepText> texts;       ///< one for each step of the recipe
  std::vector<Expectation> expectations;
  std::optional<BackwardSpec> backward = {};  ///< where its gradients begin and lead
  bool changed = false;  ///< its text or numbers are not those that its words were written for
};

/// A lesson with everything that its file does wrong.
struct ParsedLesson {
  Lesson lesson;
  std::vector<Fault> faults;
};

/// A file that is part of the program: a built-in lesson's weights.
struct BuiltInFile {
  std::string_view name;
  std::string_view bytes;
};

/// Where the files are that a lesson names: in its directory, or in the program.
struct LessonFiles {
  LessonFiles() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a directory is what nearly all lessons have.
  LessonFiles(std::filesystem::path its_directory) : directory(std::move(its_directory)) {}
  explicit LessonFiles(std::span<const BuiltInFile> in_program) : program(in_program) {}

  std::filesystem::path directory;
  std::span<const BuiltInFile> program;

  /// The bytes of a file in the program; nothing where the lesson's files are not there.
  std::optional<std::string_view> built_in(std::string_view name) const;
};

/// Reads a lesson file (docs/lessons.md). `where` opens messages; `files` is where the files are
/// that it names. Never throws for what the file says: that is in the faults.
ParsedLesson read_lesson(std::string_view toml, const std::string& where, const LessonFiles& files);

/// "lesson.toml:12:3: there is no op \"sofmax\"; did you mean \"softmax\"?"
std::string fault_line(const Lesson& lesson, const Fault& fault);

}  // namespace qkv::inline lesson
