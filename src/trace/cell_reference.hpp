#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// A reference to a cell: `scores[3,2]`, `scores[cat,fat]`, `scores[head 2,3,2]`.
struct CellReference {
  std::string name;        ///< the matrix
  std::size_t matrix = 0;  ///< index over heads and batch
  std::size_t row = 0;     ///< internally, where a token is a row
  std::size_t column = 0;
};

/// `scores[cat,fat]`, parsed to "scores" and {"cat", "fat"}. A label with commas needs quotes.
struct ReferenceText {
  std::string name;
  std::vector<std::string> indices;
};

/// Throws InputError if the text is no reference, with what is missing and an example.
ReferenceText parse_reference(std::string_view text);

/// Returns the referenced cell. Indices count from 1 in the displayed matrix; labels may replace
/// them, also generated ones ("d2", "token 3"). Throws InputError for an unknown name (with a
/// suggestion), an index out of range (with the size), and an unknown or ambiguous label (with the
/// candidates).
CellReference resolve(const ReferenceText& text, const Trace& trace);

/// The same, where * means all indices of an axis: `W_V[head 2,*,*]` is all of head 2.
std::vector<CellReference> resolve_all(const ReferenceText& text, const Trace& trace);

/// Returns the cell that `text` names. Throws InputError like the functions above; for a matrix
/// without a cell, with one of its cells as the example.
CellReference find_cell(std::string_view text, const Trace& trace);

/// The same for a tensor that is not in a trace yet.
CellReference resolve_in(const ReferenceText& text, const Tensor& tensor, TokenLayout token_layout);

/// Returns the cell at `index` among the tensor's values.
CellReference cell_at(std::string name, const Tensor& tensor, std::size_t index);

/// Returns the reference text of a cell, with labels where they exist: `scores[cat,fat]`. An
/// ambiguous label is replaced by its number.
std::string reference_text(const CellReference& cell, const Tensor& tensor,
                           TokenLayout token_layout);

/// Returns the indices of a label along an axis, as displayed ("␣cat") or as it is (" cat").
std::vector<std::size_t> places_of_label(std::string_view label, const Axis& axis,
                                         std::size_t batch);

/// Returns an index as written in a reference: its label, or its number if the label is missing,
/// ambiguous, or can't be quoted.
std::string index_word(const Axis& axis, std::size_t i, std::size_t batch);

/// The same for every index of the axis.
std::vector<std::string> index_words(const Axis& axis, std::size_t batch);

}  // namespace qkv::inline trace
