#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// What the rows and columns of one matrix of a tensor are called, as people see the tensor.
struct MatrixLabels {
  std::vector<std::string> rows;  ///< empty where the lesson has no words for them
  std::vector<std::string> columns;
};

/// The lesson's own labels of matrix `index`.
MatrixLabels own_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// The same, with the number of the row or the column where there is no label: the one name that it
/// has on the screen, in files and in cells' addresses.
MatrixLabels full_labels(const Tensor& tensor, std::size_t index, TokenLayout token_layout);

/// Whether each row has words of its own, so that no word stands over a column: the ids of a batch,
/// a sentence a row.
bool words_differ_by_row(const Tensor& tensor);

/// The labels of one such row: "batch 2", its words.
MatrixLabels labels_of_sentence(const Tensor& ids, std::size_t row);

/// The place of matrix `index` among the heads; nothing where the tensor has no heads.
std::optional<std::size_t> head_of(const Tensor& tensor, std::size_t index);

/// "head 2", "batch 1, head 2"; empty where the tensor is one matrix.
std::string matrix_name(const Tensor& tensor, std::size_t index);

/// The axes that givens of such names have as a rule.
void infer_axis_names(Trace& trace);

/// The first step that uses a given tells what its axes count, where its name does not. Its leading
/// axis counts sentences where it is data that meets weights without heads, or is yet to be cut
/// into heads; else it counts heads, as where it meets numbers that its heads share or have each,
/// or is called Q, K or V: their norms have a gain for all heads.
void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens);

/// What is left: heads, and tokens where no step uses a given.
void name_remaining_axes(Trace& trace, const AxisLabels& tokens);

}  // namespace qkv::inline trace
