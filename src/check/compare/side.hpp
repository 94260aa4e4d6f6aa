#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/files/find_files.hpp"
#include "formats/parsed_array.hpp"
#include "text/strings.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// A matrix to be compared.
struct ComparedMatrix {
  std::string name;
  Tensor tensor;  ///< as people see it, labels and all
  Precision precision = Precision::float64;
  /// How many decimals its numbers were written with, where they are digits.
  std::optional<int> decimals = {};
  bool is_given = false;     ///< of a lesson, where it is no result
  bool hides = false;        ///< of a lesson, where the step sets cells to -inf
  ParsedArray written = {};  ///< of a dump, as it was read
  std::string layout = {};   ///< how its axes had to be put in order; empty where they were
};

/// One of the two that are compared: a lesson, or what somebody's program wrote.
struct ComparedSide {
  std::string name;  ///< the lesson's name, or the path
  std::vector<ComparedMatrix> matrices;
  /// Whether a matrix that it lacks is missing; a dump may hold any part of a lesson.
  bool whole = false;
  bool is_lesson = false;          ///< or a model: worked out here, not read
  bool incomplete_export = false;  ///< files of an export without its list
  std::vector<std::string> order;  ///< the steps in the lesson's order, where that is known
  std::vector<std::string> notes;
  std::vector<UnreadableFile> unread;  ///< files of a directory that are no numbers
};

/// The matrices of a side by their names. The side must outlive it, as it is.
class ComparedSideIndex {
 public:
  explicit ComparedSideIndex(const ComparedSide& side);
  const ComparedMatrix* find(std::string_view matrix) const;  ///< nullptr where there is none
  const ComparedSide& side() const { return *side_; }

 private:
  const ComparedSide* side_;
  NameIndex names_;
};

/// All givens and steps of a lesson.
ComparedSide compared_side(const std::string& name, const Trace& trace);

/// What a file or a directory holds. Takes `dump` apart.
ComparedSide compared_side(const std::string& name, ArrayCollection dump);

/// A program's names that are nearly those of the other side ("q", "attention-weights") become
/// them, where no other is as near.
void adopt_names(const ComparedSide& other, ComparedSide& side);

/// "theirs=ours", each with at most one *, which stands for the same on both sides.
struct NameMap {
  std::string theirs;
  std::string ours;
};

/// Whether a name is what a pattern with * asks for; then what the * stands for.
std::optional<std::string> matched(std::string_view pattern, std::string_view name);

/// Names a side's matrices by the first map that fits each. Throws InputError where a map fits none
/// of them, or names none of the other side's.
void map_names(const std::vector<NameMap>& maps, const ComparedSide& other, ComparedSide& side);

/// Puts the axes of a side's matrices in the order of the other's, where only one order can be
/// meant: heads inside (n × h × d), side by side (n × h·d) or one below the
/// other (h·n × d), and of a batch one sentence, from 1.
void match_layout(const ComparedSide& other, std::optional<std::size_t> batch, ComparedSide& side);

/// The sizes of a side's matrices, for reading the files that are compared with it.
ExpectedSize sizes_of(const ComparedSide& side);

}  // namespace qkv::inline check
