#pragma once

#include "text/prelude.hpp"

#include <random>

namespace qkv::inline tensor {

/// The generator: NumPy's after `numpy.random.seed(s)`, or PyTorch's on the CPU after
/// `torch.manual_seed(s)`.
enum class Generator { numpy, torch };

/// Draws the numbers of NumPy or PyTorch after a seed, bit for bit and in the same order; each call
/// continues the stream. NumPy's are float64. PyTorch's are float32, widened to double, as in
/// PyTorch 1.13 on a processor with AVX2.
/// Example: the first two of `RandomStream(Generator::numpy, 0).rand` are 0.5488135039273248 and
/// 0.7151893663724195.
class RandomStream {
 public:
  /// Throws InputError for a NumPy seed of 2^32 or more, as NumPy does. PyTorch uses the low 32
  /// bits of any seed.
  RandomStream(Generator generator, std::uint64_t seed);

  /// Draws numbers, uniform in [0, 1): `numpy.random.rand`, `torch.rand`.
  void rand(std::span<double> numbers);

  /// Draws numbers of the normal distribution with mean 0 and deviation 1: `numpy.random.randn`,
  /// `torch.randn`. PyTorch draws 16 or more numbers in another way than fewer: 8 twice are not 16
  /// at once.
  void randn(std::span<double> numbers);

  /// Returns the weight of `torch.nn.Linear(in, out)`, out × in, row-major: uniform in ±1/√in (He
  /// et al. 2015, section 2.2, with a slope of √5). Draw it before the bias. Throws InputError for
  /// NumPy and for more numbers than `memory_limit` allows.
  std::vector<double> linear_weight(std::size_t in, std::size_t out);

  /// Returns the bias of `torch.nn.Linear(in, out)`: `out` numbers, uniform in ±1/√in. A layer with
  /// bias=False draws none. Throws InputError as linear_weight does.
  std::vector<double> linear_bias(std::size_t in, std::size_t out);

 private:
  double next_normal();

  Generator generator_;
  std::mt19937 engine_;
  /// The second of a pair of normal numbers, for the next call of randn, also across calls of rand.
  std::optional<double> cached_normal_;
};

}  // namespace qkv::inline tensor
