#include "tensor/random.hpp"

#include <bit>
#include <numbers>

#include "tensor/tensor.hpp"
#include "text/strings.hpp"

// Every rounding counts here, so this file needs -ffp-contract=off. Where PyTorch's compiled code
// rounds a multiplication and an addition once, std::fma does so.

namespace qkv::inline tensor {
namespace {

struct NormalPair {
  double returned;
  double kept;
};

// NumPy: 27 and 26 bits of two draws make the 53 bits of a double (genrand_res53 of the Mersenne
// Twister).
double numpy_uniform(std::mt19937& engine) {
  const auto high = static_cast<double>(engine() >> 5);
  const auto low = static_cast<double>(engine() >> 6);
  return (high * 0x1p26 + low) * 0x1p-53;
}

// NumPy's legacy_gauss: Marsaglia's polar method, a point of the unit disc scaled to two normals.
// Like NumPy it takes the C library's log. Without FMA (before 2013) glibc's has another last bit
// for one number in twenty thousand.
NormalPair numpy_normal_pair(std::mt19937& engine) {
  double x1 = 0, x2 = 0, r2 = 0;
  do {
    x1 = 2.0 * numpy_uniform(engine) - 1.0;
    x2 = 2.0 * numpy_uniform(engine) - 1.0;
    r2 = x1 * x1 + x2 * x2;
  } while (r2 >= 1.0 || r2 == 0.0);
  const double f = std::sqrt(-2.0 * std::log(r2) / r2);
  return {.returned = f * x2, .kept = f * x1};
}

// PyTorch, float32: the low 24 bits of one draw.
float torch_uniform(std::mt19937& engine) {
  return static_cast<float>(engine() & 0xFFFFFF) * 0x1p-24F;
}

// PyTorch, float64: the low 53 bits of two draws.
double torch_uniform_double(std::mt19937& engine) {
  const std::uint64_t high = engine();
  const std::uint64_t low = engine();
  return static_cast<double>((high << 32 | low) & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

// PyTorch's normal_distribution<double>, also used for float32 tensors of fewer than 16 numbers:
// the Box-Muller method.
NormalPair torch_normal_pair(std::mt19937& engine) {
  const double u1 = torch_uniform_double(engine);
  const double u2 = torch_uniform_double(engine);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u2));
  const double theta = 2.0 * std::numbers::pi * u1;
  return {.returned = radius * std::cos(theta), .kept = radius * std::sin(theta)};
}

// Evaluates a polynomial, highest power first.
template <std::size_t Terms>
float horner(const std::array<float, Terms>& coefficients, float x) {
  float sum = coefficients[0];
  for (std::size_t i = 1; i < Terms; ++i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

// PyTorch computes eight logarithms, sines and cosines at a time, by the polynomials of Stephen
// Moshier's Cephes library (logf.c, sinf.c). std::log and std::sin have other last digits, so the
// next two functions use those polynomials and round at the same places.

// log(x) for a normal x > 0: x = m·2^e with m in [√½, √2), and log(m) by a polynomial in m − 1.
float cephes_log(float x) {
  constexpr std::array polynomial = {7.0376836292E-2F,  -1.1514610310E-1F, 1.1676998740E-1F,
                                     -1.2420140846E-1F, 1.4249322787E-1F,  -1.6668057665E-1F,
                                     2.0000714765E-1F,  -2.4999993993E-1F, 3.3333331174E-1F};
  constexpr float log2_low = -2.12194440E-4F;  // log 2 in two parts, the high one exact
  constexpr float log2_high = 0.693359375F;

  const auto bits = std::bit_cast<std::uint32_t>(x);
  auto e = static_cast<float>(static_cast<int>(bits >> 23) - 126);
  float m = std::bit_cast<float>((bits & 0x007FFFFF) | 0x3F000000);  // in [½, 1)
  if (m < std::numbers::sqrt2_v<float> / 2) {
    e -= 1.0F;
    m += m - 1.0F;
  } else {
    m -= 1.0F;
  }
  const float square = m * m;
  float y = std::fma(horner(polynomial, m) * m, square, e * log2_low);
  y = std::fma(-square, 0.5F, y);
  return std::fma(e, log2_high, m + y);
}

struct SineCosine {
  float sine;
  float cosine;
};

// Returns the sine and cosine of theta in [0, 2π]. Subtracts the nearest multiple of π/2; two
// polynomials give the sine and the cosine of the rest.
SineCosine cephes_sincos(float theta) {
  constexpr std::array sine_polynomial = {-1.9515295891E-4F, 8.3321608736E-3F, -1.6666654611E-1F};
  constexpr std::array cosine_polynomial = {2.443315711809948E-5F, -1.388731625493765E-3F,
                                            4.166664568298827E-2F};
  // −π/4 in three parts, so that eighths times the first two are exact.
  constexpr std::array minus_eighth_turn = {-0.78515625F, -2.4187564849853515625E-4F,
                                            -3.77489497744594108E-8F};

  const int eighths = (static_cast<int>(theta * 1.27323954473516F) + 1) & ~1;  // theta · 4/π
  float x = theta;
  for (const float part : minus_eighth_turn) x = std::fma(static_cast<float>(eighths), part, x);

  const float square = x * x;
  const float sine = std::fma(horner(sine_polynomial, square) * square, x, x);
  const float cosine =
      std::fma(horner(cosine_polynomial, square) * square, square, -(square * 0.5F)) + 1.0F;
  switch (eighths & 6) {  // twice the number of quarter turns subtracted
    case 0: return {.sine = sine, .cosine = cosine};
    case 2: return {.sine = cosine, .cosine = -sine};
    case 4: return {.sine = -sine, .cosine = -cosine};
    default: return {.sine = -cosine, .cosine = sine};
  }
}

// PyTorch's normal_fill: 16 uniform numbers become 16 normal ones, by the Box-Muller method on the
// pairs j, j + 8.
void make_normal(std::span<float, 16> x) {
  constexpr auto two_pi = static_cast<float>(2.0 * std::numbers::pi);
  for (std::size_t j = 0; j < 8; ++j) {
    const float radius = std::sqrt(-2.0F * cephes_log(1.0F - x[j]));
    const SineCosine point = cephes_sincos(two_pi * x[j + 8]);
    x[j] = radius * point.cosine + 0.0F;  // PyTorch adds the mean: −0 becomes 0
    x[j + 8] = radius * point.sine + 0.0F;
  }
}

void draw_uniform(std::mt19937& engine, std::span<float> x) {
  for (float& value : x) value = torch_uniform(engine);
}

// PyTorch's randn for 16 numbers or more. If the last group of 16 is not full, the last 16 numbers
// are drawn again.
std::vector<double> torch_normal_fill(std::mt19937& engine, std::size_t count) {
  std::vector<float> values(count);
  const std::span<float> all(values);
  draw_uniform(engine, all);
  for (std::size_t i = 0; i + 16 <= count; i += 16) make_normal(all.subspan(i).first<16>());
  if (count % 16 != 0) {
    draw_uniform(engine, all.last<16>());
    make_normal(all.last<16>());
  }
  return {values.begin(), values.end()};
}

// PyTorch's uniform_(−bound, bound) for a float32 tensor.
std::vector<double> torch_uniform_fill(std::mt19937& engine, std::size_t count, double bound) {
  const auto from = static_cast<float>(-bound);
  const auto to = static_cast<float>(bound);
  std::vector<double> values(count);
  for (double& value : values) value = double{std::fma(torch_uniform(engine), to - from, from)};
  return values;
}

void require_torch(Generator generator) {
  if (generator == Generator::torch) return;
  throw InputError(
      "linear draws the weights of PyTorch's nn.Linear, which NumPy does not have: write "
      "generator = \"torch\", or draw with rand or randn");
}

std::uint32_t engine_seed(Generator generator, std::uint64_t seed) {
  if (generator == Generator::numpy && seed > 0xFFFFFFFF) {
    throw InputError("seed " + std::to_string(seed) +
                     " is too large for NumPy: write a whole number from 0 to 4294967295");
  }
  return static_cast<std::uint32_t>(seed);
}

}  // namespace

RandomStream::RandomStream(Generator generator, std::uint64_t seed)
    : generator_(generator), engine_(engine_seed(generator, seed)) {}

void RandomStream::rand(std::span<double> numbers) {
  for (double& number : numbers) {
    number =
        generator_ == Generator::numpy ? numpy_uniform(engine_) : double{torch_uniform(engine_)};
  }
}

void RandomStream::randn(std::span<double> numbers) {
  const bool torch = generator_ == Generator::torch;
  if (torch && numbers.size() >= 16) {
    std::ranges::copy(torch_normal_fill(engine_, numbers.size()), numbers.begin());
    return;
  }
  for (double& number : numbers) {
    number = next_normal();
    if (torch) number = static_cast<float>(number);
  }
}

double RandomStream::next_normal() {
  if (cached_normal_) return *std::exchange(cached_normal_, std::nullopt);
  const NormalPair pair =
      generator_ == Generator::numpy ? numpy_normal_pair(engine_) : torch_normal_pair(engine_);
  cached_normal_ = pair.kept;
  return pair.returned;
}

std::vector<double> RandomStream::linear_weight(std::size_t in, std::size_t out) {
  require_torch(generator_);
  const std::size_t count = element_count({out, in}, "linear");
  // In PyTorch's own steps: 1/√in has other last digits, since √5 squared is not quite 5.
  const double slope = std::sqrt(5.0);
  const double gain = std::sqrt(2.0 / (1.0 + slope * slope));
  const double deviation = gain / std::sqrt(static_cast<double>(in));
  return torch_uniform_fill(engine_, count, std::sqrt(3.0) * deviation);
}

std::vector<double> RandomStream::linear_bias(std::size_t in, std::size_t out) {
  require_torch(generator_);
  const std::size_t count = element_count({out}, "linear");
  const double bound = in == 0 ? 0.0 : 1.0 / std::sqrt(static_cast<double>(in));
  return torch_uniform_fill(engine_, count, bound);
}

}  // namespace qkv::inline tensor
