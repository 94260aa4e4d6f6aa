#pragma once

#include "lesson/model/predictions.hpp"

namespace qkv::inline terminal {

/// How heads and layers are shown.
struct HeadsStyle {
  std::size_t width = 80;
  int digits = 4;
};

/// Returns a line for each ablated head: the answer's probability without it, the most likely token
/// without it, and the loss, if there is one.
std::string ablations_text(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           const HeadsStyle& look);
std::string ablations_json(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss);

/// Returns the logit lens: for each layer the most likely tokens if it were the last, in lines of
/// at most the width.
std::string logit_lens_text(const Lesson& lesson, const std::vector<LayerPrediction>& logit_lens,
                            const HeadsStyle& look);

/// Returns a table of head statistics, then the first heads' attention weights as glyphs.
std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits, const HeadsStyle& look);

/// The same numbers as a JSON list of objects.
std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits);

/// The sizes of a stack of attention layers. Example: GPT-3 is {12288, 128, 128, 96, 96}.
struct StackSizes {
  std::uint64_t d_model = 0;
  std::uint64_t d_k = 0;
  std::uint64_t d_v = 0;
  std::uint64_t heads = 1;  ///< per layer
  std::uint64_t layers = 1;
};

/// One weight matrix W of a head, used as row of X times W.
struct MatrixCount {
  std::string name;  ///< "W_Q"
  std::string also;  ///< another common name, if any: "value-down"
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t count = 0;
};

/// The number of trainable parameters, without biases.
struct StackCount {
  StackSizes sizes;
  std::vector<MatrixCount> matrices;  ///< of one head: W_Q, W_K, W_V, W_O
  std::uint64_t head = 0;
  std::uint64_t layer = 0;
  std::uint64_t all = 0;
};

/// The number of attention cells for a context of n tokens: n² per head.
struct AttentionCells {
  std::uint64_t context = 0;    ///< n
  std::uint64_t cells = 0;      ///< n²
  std::uint64_t all_cells = 0;  ///< of every head of every layer
};

struct NumberType {
  std::string_view name;
  std::uint64_t bytes = 0;
};
inline constexpr NumberType number_types[] = {{"float32", 4}, {"float16", 2}};

/// Counts the parameters. Throws InputError for a size of 0, and above 64 bits.
StackCount parameters_of(const StackSizes& sizes);

/// Counts the attention cells of one context. Throws InputError as above.
AttentionCells attention_cells(std::uint64_t context, const StackSizes& sizes);

/// Returns count · kind.bytes. Throws InputError above 64 bits.
std::uint64_t bytes_of(std::uint64_t count, const NumberType& kind);

/// Returns the context lengths from 1,024 to 1,048,576 tokens, doubling.
std::vector<std::uint64_t> standard_contexts();

/// Formats bytes in powers of 1024, with at most three decimals: "4 MiB", "216 GiB", "1023 B".
std::string bytes_text(std::uint64_t bytes);

/// Returns both tables as text, in at most 80 columns for sizes up to GPT-3's.
std::string params_text(const StackCount& count, const std::vector<AttentionCells>& patterns);

/// Returns both tables as JSON, with exact numbers.
std::string params_json(const StackCount& count, const std::vector<AttentionCells>& patterns);

/// Returns the catalogue for lesson authors: each operation with its operands as in `of`, what it
/// does, and its options with their values. Lines have at most `columns`.
std::string operations_text(std::size_t columns);

}  // namespace qkv::inline terminal
