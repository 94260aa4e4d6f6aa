#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// A cell as people name it: `scores[3,2]`, `scores[cat,fat]`, `scores[head 2,3,2]`.
struct CellReference {
  std::string name;        ///< the matrix
  std::size_t matrix = 0;  ///< which of its matrices (heads, batch)
  std::size_t row = 0;     ///< inside, where a token is a row
  std::size_t column = 0;
};

/// `scores[cat,fat]` cut into "scores" and {"cat", "fat"}; quotes keep a label with commas
/// together.
struct ReferenceText {
  std::string name;
  std::vector<std::string> indices;
};

/// Throws InputError where the text is no cell: what is missing and an example of one that is.
ReferenceText parse_reference(std::string_view text);

/// Finds the cell in the trace. Indices count from 1, as people see the matrix; a label may stand
/// for an index, also one that is made up where the lesson has none: "d2", "token 3". Throws
/// InputError: an unknown name (with the nearest), an index outside (with the size), a label that
/// is not there or stands at several places (with the candidates).
CellReference resolve(const ReferenceText& text, const Trace& trace);

/// The same where * stands for all places along an axis: `W_V[head 2,*,*]` is all of head 2.
std::vector<CellReference> resolve_all(const ReferenceText& text, const Trace& trace);

/// The cell that `text` names. Throws InputError as the two above; where it names a matrix without
/// a cell, with one of that matrix's own cells as the example.
CellReference find_cell(std::string_view text, const Trace& trace);

/// The same for one tensor that is not in a trace yet.
CellReference resolve_in(const ReferenceText& text, const Tensor& tensor, TokenLayout token_layout);

/// The cell whose number stands at `index` among the tensor's.
CellReference cell_at(std::string name, const Tensor& tensor, std::size_t index);

/// The cell as people write it, with labels where it has them: `scores[cat,fat]`. A label that
/// stands at several places is written with its number.
std::string reference_text(const CellReference& cell, const Tensor& tensor,
                           TokenLayout token_layout);

/// An index as people would write it in a reference: the label, or the number where there is none,
/// where it stands at several places, or where quotes can't keep it together.
std::string index_word(const Axis& axis, std::size_t i, std::size_t batch);

/// The same for every index of the axis.
std::vector<std::string> index_words(const Axis& axis, std::size_t batch);

}  // namespace qkv::inline trace
