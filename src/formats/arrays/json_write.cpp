#include <array>
#include <cmath>

#include "formats/arrays/json.hpp"
#include "text/digits.hpp"

namespace qkv {
namespace {

/// JSON knows no infinities and no NaN.
std::string_view word_for(double value) {
  if (std::isnan(value)) return "null";
  return value > 0 ? "\"inf\"" : "\"-inf\"";
}

void append_number(std::string& text, double value, std::optional<int> digits) {
  if (!std::isfinite(value)) {
    text += word_for(value);
    return;
  }
  constexpr int most_digits = 17;
  std::array<char, longest_fixed(most_digits)> room;
  char* const end = digits ? put_fixed(room.data(), value, std::min(*digits, most_digits))
                           : put_shortest(room.data(), value);
  text.append(room.data(), end);
}

/// Writes nested lists, one innermost list a line.
class ListWriter {
 public:
  ListWriter(const Tensor& tensor, std::optional<int> digits, const Sink& sink)
      : tensor_(tensor), digits_(digits), sink_(sink) {}

  void write() {
    write_axis(0);
    sink_(text_);
  }

 private:
  void write_axis(std::size_t axis) {
    const std::size_t size = tensor_.axes[axis].size;
    const bool innermost = axis + 1 == tensor_.rank();
    text_ += '[';
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) text_ += innermost ? ", " : ",";
      if (innermost) {
        append_number(text_, tensor_.values[next_++], digits_);
      } else {
        indent(axis + 2);
        write_axis(axis + 1);
      }
    }
    if (!innermost) indent(axis + 1);
    text_ += ']';
    constexpr std::size_t enough = 1 << 16;
    if (text_.size() < enough) return;
    sink_(text_);
    text_.clear();
  }

  void indent(std::size_t depth) {
    text_ += '\n';
    text_.append(2 * depth, ' ');
  }

  const Tensor& tensor_;
  std::optional<int> digits_;
  const Sink& sink_;
  std::size_t next_ = 0;
  std::string text_;
};

}  // namespace

void write_json(const std::vector<NamedTensor>& tensors, std::optional<int> digits,
                const Sink& sink) {
  std::string_view before = "{\n  \"";
  for (const NamedTensor& named : tensors) {
    sink(before);
    sink(named.name);
    sink("\": ");
    ListWriter(*named.tensor, digits, sink).write();
    before = ",\n  \"";
  }
  sink(tensors.empty() ? "{}\n" : "\n}\n");
}

}  // namespace qkv
