#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.hpp"
#include "tensor/tensor.hpp"

/// What each fuzzer is: a reader to call with any bytes at all, and the laws that hold whatever
/// they are. A reader either reads or throws InputError, and takes no more memory than its bytes
/// justify.
namespace qkv::fuzz {

struct Target {
  /// Calls the reader; throws InputError where the bytes are refused. Breaks a `law` where a result
  /// is not what it must be.
  void (*call)(std::string_view bytes);
  /// The most memory that one byte of input may cost; 0 where the input names sizes by right, as a
  /// lesson does with ones = [9, 9].
  std::size_t memory_per_byte = 0;
};

/// Each fuzzer defines its own: one file, one reader.
extern const Target target;

/// Ends the fuzzer with a report if the law does not hold.
void law(bool holds, const char* what);

/// The laws of every reader's result: as many numbers and labels as its shape says, and some.
void sound(const ParsedArray& written);

/// The numbers alone.
std::vector<double> numbers_of(const ParsedArray& written);
Tensor tensor_of_numbers(const ParsedArray& written);

/// Whether two readings have the same shape and the same numbers; blanks are the same.
bool same(const ParsedArray& one, const ParsedArray& other);

/// The input cut at its zero bytes into so many parts, the last ones empty where there are too few:
/// for readers of several files.
std::vector<std::string_view> parts(std::string_view bytes, std::size_t count);

}  // namespace qkv::fuzz
