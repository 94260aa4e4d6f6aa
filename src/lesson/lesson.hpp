#pragma once

#include <compare>

#include "formats/format.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// A position in the lesson file, counted from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;

  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// An error in a lesson file, or advice on how to improve it.
struct Fault {
  enum class Kind { error, advice };
  Place place;
  std::string message;
  Kind kind = Kind::error;
};

/// A piece of a lesson's text and its position.
struct Prose {
  std::string text;
  Place place;
};

/// The words for a step of a trained model, in lessons/words/model-steps.toml.
struct ModelWords {
  std::string_view title, say, notice;
};

/// The lesson's text about one step of its recipe.
struct StepText {
  Place place;             ///< the step's name; place of faults of the whole step
  std::string title;       ///< empty: the operation's title
  Prose cell = {};         ///< the example cell, as `scores[cat,fat]`; empty: a typical one
  bool works_cell = true;  ///< false: no example cell (cell = "" in the file)
  bool show = true;        ///< false: the walk has the prose without the matrix
  bool largest = false;    ///< show the largest numbers of the last row instead of the matrix
  bool general = false;    ///< title, say and notice begin with prose that holds for any numbers
  Prose say;               ///< empty: the operation's own prose is used
  Prose notice;
  ModelWords otherwise = {};         ///< a model's own prose, if the lesson's no longer holds
  std::optional<double> marks = {};  ///< marks for the step; unset: one per cell
  bool is_made = false;              ///< not in the file: a generated gradient step
  Prose questions = {};              ///< exercises, each with its command, and what comes next
  Prose answers = {};                ///< to the questions: a paragraph each
};

/// A published result that the lesson must reproduce to its printed digits.
struct Expectation {
  std::string of;
  ParsedArray value = {};
  std::string source;
  Place place;
};

/// A lesson: its text, and the recipe of its numbers.
struct Lesson {
  std::string name;   ///< of a built-in lesson, or the file's name without ".toml"
  std::string where;  ///< the file, as messages name it
  std::string asked;  ///< how a command names it: LESSON --text … --set …, shell-quoted
  std::string title;
  std::string summary;
  std::string source;
  std::vector<std::string> explains;  ///< operations for which it is the recommended lesson
  Recipe recipe;
  std::vector<std::string> unshown;  ///< givens that the walk names but does not print
  std::vector<Place> given_places;   ///< one per given of the recipe: position of its name
  std::vector<StepText> texts;       ///< one per step of the recipe
  std::vector<Expectation> expectations;
  std::optional<BackwardSpec> backward = {};  ///< where the backward pass starts and leads
  bool changed = false;  ///< its input text or numbers differ from those its prose was written for
};

/// Returns the title of a step by its number, not sanitised: the lesson's own, else one for its
/// name (Q: "Make the queries"), else the operation's.
std::string title_of(const Lesson& lesson, std::size_t number);

/// A lesson and all faults of its file.
struct ParsedLesson {
  Lesson lesson;
  std::vector<Fault> faults;
  NameIndex declared = {};  ///< the names of the file's givens and steps, faulty ones too
};

/// A file built into the program: a built-in lesson's weights.
struct BuiltInFile {
  std::string_view name;
  std::string_view bytes;
};

/// The location of a lesson's files: its directory, or the program.
struct LessonFiles {
  LessonFiles() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a directory is what nearly all lessons have.
  LessonFiles(std::filesystem::path its_directory) : directory(std::move(its_directory)) {}
  explicit LessonFiles(std::span<const BuiltInFile> in_program) : program(in_program) {}

  std::filesystem::path directory;
  std::span<const BuiltInFile> program;

  /// Returns the bytes of a file built into the program; nothing if the lesson's are elsewhere.
  std::optional<std::string_view> built_in(std::string_view name) const;
};

/// Reads a lesson file (docs/lessons.md). `where` is the prefix of messages; `files` locates the
/// files that it names. Never throws for the content of the file: faults are returned.
ParsedLesson read_lesson(std::string_view toml, const std::string& where, const LessonFiles& files);

/// Returns "lesson.toml:12:3: there is no op \"sofmax\"; did you mean \"softmax\"?"
std::string fault_line(const Lesson& lesson, const Fault& fault);

}  // namespace qkv::inline lesson
