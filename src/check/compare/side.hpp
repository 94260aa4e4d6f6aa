#pragma once

#include "check/tolerance/cell_tolerance.hpp"

namespace qkv::inline check {

struct ComparedMatrix {
  std::string name;
  Tensor tensor;  ///< as displayed, with labels
  Precision precision = Precision::float64;
  /// The number of decimals, if the numbers are decimal digits.
  std::optional<int> decimals = {};
  bool is_given = false;           ///< a lesson's given, not a result
  bool masks_cells = false;        ///< a lesson's step that sets cells to -inf
  bool is_weight = false;          ///< a lesson's that stands in × out, or the gradient of one
  ParsedArray written = {};        ///< a dump's array as parsed
  std::string open_name = {};      ///< a dump's, which may stand for another step; else empty
  std::string layout = {};         ///< how its axes were reordered; empty if they were not
  bool is_arranged = false;        ///< its heads were put in front, as its sizes told
  bool last_row_only = false;      ///< a dump's array; the lesson's tensor is cut to fit
  std::size_t printed = 0;         ///< of a part: how many of its numbers are there; else 0
  std::optional<double> sum = {};  ///< of a part: what the program says all its numbers make
};

/// One side of a comparison: a lesson, or a program's arrays.
struct ComparedSide {
  std::string name;  ///< the lesson's name, or the path
  std::vector<ComparedMatrix> matrices = {};
  /// True if it should have every matrix; a dump may hold any part of a lesson.
  bool whole = false;
  bool is_lesson = false;               ///< or a model: computed here, not read
  bool stores_out_in = false;           ///< a model, whose file holds its weights out × in
  bool incomplete_export = false;       ///< an export's files without its manifest
  std::vector<std::string> order = {};  ///< the steps in the lesson's order, if known
  bool is_sorted_by_name = false;       ///< a dump's arrays, as a directory's files: no order
  std::string scheme = {};              ///< whose names its arrays had, for the report
  std::vector<std::string> notes = {};
  std::vector<UnreadableFile> unreadable_files = {};  ///< files in a directory that hold no numbers
};

/// Looks up a side's matrices by name. The side must outlive it unchanged.
class ComparedSideIndex {
 public:
  explicit ComparedSideIndex(const ComparedSide& side);
  const ComparedMatrix* find(std::string_view matrix) const;  ///< nullptr if absent
  const ComparedSide& side() const { return *side_; }
  const std::vector<std::string>& names() const { return names_.all(); }

 private:
  const ComparedSide* side_;
  NameIndex names_;
};

/// Returns all givens and steps of a lesson.
ComparedSide compared_side(const std::string& name, const Trace& trace);

/// Returns the matrices of a file or directory. Moves them out of `dump`.
ComparedSide compared_side(const std::string& name, ArrayCollection dump);

/// Renames matrices whose names nearly match the other side's ("q", "attention-weights"), if no
/// other name is as near.
void adopt_names(const ComparedSide& other, ComparedSide& side);

/// Gives the arrays of one of two dumps the names of the other, if they are those of a known
/// scheme.
void adopt_names_of_scheme(ComparedSide& one, ComparedSide& other);

/// Renames each matrix by the first map that matches it. Throws InputError if a map matches no
/// matrix or leads to no name of the other side.
void map_names(const std::vector<NameMap>& maps, const ComparedSide& other, ComparedSide& side);

/// Reorders the axes of a side's matrices like the other's, if only one order is possible. Heads
/// may be inside (n × h × d), side by side (n × h·d) or stacked (h·n × d). Of a batch it takes one
/// sentence, from 1. Weights and their gradients are transposed if most of them stand out × in, as
/// PyTorch stores them. Of a printed part the other cells get the other side's numbers.
void match_layout(const ComparedSide& other, std::optional<std::size_t> batch, ComparedSide& side);

/// Takes the arrays of a program that dumps the last token's row alone for those rows, if the
/// numbers of one of them are much like the lesson's (cosine above 0.9). The lesson's tensors of
/// these steps are cut.
void take_last_rows(ComparedSide& lesson, ComparedSide& program);

/// Lays out a submission whose names are a program's like the lesson: weights and their gradients
/// that stand out × in are transposed, and rows of the last token alone are put in their place.
/// Adds a note of what was done.
void arrange_program(const Trace& trace, Submission& submission);

/// Whether an array has the numbers of a step to about three digits, also if its heads are inside
/// or side by side, or if it is the last row alone. An array that is the same everywhere is like
/// none.
enum class Likeness { none, other_layout, same };
Likeness likeness_of(const ComparedMatrix& step, const ComparedMatrix& array);

/// How many numbers are read of an array that is compared with a lesson: as many times its step's
/// as a wrong shape may have (the largest step's if none has its name), as many times the largest
/// step's, or all.
enum class ReadLimit { by_its_step, by_largest_step, none };

/// Returns how files are read that are compared with a side: it tells their sizes. The side must
/// outlive it. Arrays that are compared with a dump have no limit.
OptionsOfFile options_of_files(const ComparedSide& side, ReadLimit limit);

}  // namespace qkv::inline check
