#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace qkv::inline tensor {

/// Whose random numbers: those after `numpy.random.seed(s)`, or those after `torch.manual_seed(s)`
/// on the CPU.
enum class Generator { numpy, torch };

/// The numbers that NumPy or PyTorch draws after a seed, bit for bit and in the same order: each
/// call goes on where the one before it stopped. NumPy's are float64. PyTorch's are float32,
/// widened to double, as PyTorch 1.13 draws them on a processor with AVX2.
///
/// Example: `RandomStream(Generator::numpy, 0).rand(2)` is 0.5488135039273248, 0.7151893663724195.
class RandomStream {
 public:
  /// Throws InputError for a NumPy seed of 2^32 or more, as NumPy does. PyTorch takes any seed and
  /// uses its low 32 bits.
  RandomStream(Generator generator, std::uint64_t seed);

  /// `count` numbers from 0 up to, but not including, 1: `numpy.random.rand`, `torch.rand`.
  std::vector<double> rand(std::size_t count);
  void rand(std::span<double> numbers);

  /// `count` numbers from the normal distribution of mean 0 and deviation 1: `numpy.random.randn`,
  /// `torch.randn`. PyTorch draws 16 or more at a time in another way than fewer, so there
  /// randn(8) twice is not randn(16).
  std::vector<double> randn(std::size_t count);
  void randn(std::span<double> numbers);

  /// The weight of `torch.nn.Linear(in, out)`, out × in, row-major: uniform in ±1/√in (He et al.
  /// 2015, section 2.2, with a slope of √5). PyTorch draws the weight first, then the bias. Throws
  /// InputError for the NumPy generator and for more numbers than `memory_limit` allows.
  std::vector<double> linear_weight(std::size_t in, std::size_t out);

  /// The bias of `torch.nn.Linear(in, out)`, `out` numbers uniform in ±1/√in. A layer with
  /// bias=False draws none. Throws InputError as linear_weight does.
  std::vector<double> linear_bias(std::size_t in, std::size_t out);

 private:
  double next_normal();

  Generator generator_;
  std::mt19937 engine_;
  /// Normal numbers are made two at a time: the second one waits here for the next call, also
  /// across calls of rand.
  std::optional<double> cached_normal_;
};

}  // namespace qkv::inline tensor
