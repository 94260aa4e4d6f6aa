#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// The row and column labels of one matrix, as displayed.
struct MatrixLabels {
  std::vector<std::string> rows;  ///< empty if the lesson has no words for them
  std::vector<std::string> columns;
};

/// Returns the lesson's own labels of matrix `index`.
MatrixLabels own_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// The same, with the index from 1 for each missing label. These names are used on the screen, in
/// files and in cell references.
MatrixLabels full_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// True if each row has its own words, so that columns have none: the ids of a batch, a sentence
/// per row.
bool words_differ_by_row(const Tensor& tensor);

/// Returns the labels of one such row: "batch 2", its words.
MatrixLabels labels_of_sentence(const Tensor& ids, std::size_t row);

/// Returns the head of matrix `index`; nothing if the tensor has no heads.
std::optional<std::size_t> head_of(const Tensor& tensor, std::size_t index);

/// Returns "head 2" or "batch 1, head 2"; empty if the tensor is one matrix.
std::string matrix_name(const Tensor& tensor, std::size_t index);

/// Names the axes of givens with conventional names (Q, W_Q, …).
void infer_axis_names(Trace& trace);

/// Infers axis names of a given from the first step that uses it, if its name does not tell. Its
/// leading axis is the batch if it is data that meets weights without heads, or is to be split into
/// heads. Otherwise it is the heads, as for Q, K and V, whose norms have one gain for all heads.
void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens);

/// Names the other axes: heads, and tokens of unused givens.
void name_remaining_axes(Trace& trace, const AxisLabels& tokens);

}  // namespace qkv::inline trace
