#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline terminal {

/// The sizes of a stack of attention blocks. Example: GPT-3 is {12288, 128, 128, 96, 96}.
struct StackSizes {
  std::uint64_t d_model = 0;
  std::uint64_t d_k = 0;
  std::uint64_t d_v = 0;
  std::uint64_t heads = 1;   ///< in a block
  std::uint64_t layers = 1;  ///< blocks
};

/// One weight matrix of a head. In use it is multiplied from the right: row of X times W.
struct MatrixCount {
  std::string name;  ///< "W_Q"
  std::string also;  ///< another name for it, where there is one: "value-down"
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t count = 0;
};

/// How many parameters there are: numbers that training sets. Biases are not counted.
struct StackCount {
  StackSizes sizes;
  std::vector<MatrixCount> matrices;  ///< of one head: W_Q, W_K, W_V, W_O
  std::uint64_t head = 0;
  std::uint64_t block = 0;
  std::uint64_t all = 0;
};

/// What the attention pattern of a context of n tokens takes: n² numbers for each head.
struct AttentionCells {
  std::uint64_t context = 0;    ///< n
  std::uint64_t cells = 0;      ///< n²
  std::uint64_t all_cells = 0;  ///< of every head of every layer
};

/// A kind of number, by how many bytes one takes.
struct NumberType {
  std::string_view name;
  std::uint64_t bytes = 0;
};
inline constexpr NumberType number_types[] = {{"float32", 4}, {"float16", 2}};

/// Counts the parameters. Throws InputError for a size of 0 and for a count beyond 64 bits.
StackCount parameters_of(const StackSizes& sizes);

/// Counts the cells of one context's attention patterns. Throws InputError as above.
AttentionCells attention_cells(std::uint64_t context, const StackSizes& sizes);

/// count · kind.bytes. Throws InputError beyond 64 bits.
std::uint64_t bytes_of(std::uint64_t count, const NumberType& kind);

/// 1,024 to 1,048,576 tokens, each twice the one before.
std::vector<std::uint64_t> standard_contexts();

/// Bytes for people, in powers of 1024: "4 MiB", "216 GiB", "1023 B"; three digits or a little
/// more.
std::string bytes_text(std::uint64_t bytes);

/// Both tables as people read them, in at most 80 columns for sizes as large as GPT-3's.
std::string params_text(const StackCount& count, const std::vector<AttentionCells>& patterns);

/// The same, in full, as JSON.
std::string params_json(const StackCount& count, const std::vector<AttentionCells>& patterns);

/// The catalogue for people who write lessons: each operation with its operands as `of` takes them,
/// what it does, and its options with what may be written for them. Lines of at most `columns`.
std::string operations_text(std::size_t columns);

}  // namespace qkv::inline terminal
