#include "formats/handwork/csv.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {

namespace eval_callback {
namespace {

// Source: llama.cpp's common/debug.cpp and, before it, examples/eval-callback. Each tensor has a
// line `MARKER NAME = (TYPE) OP(SOURCES) = {ne0, ne1, ne2, ne3}`, then its numbers in brackets, and
// `sum = X` for each of ne3. Of an axis longer than 6 the first and the last 3 are printed.
constexpr std::string_view markers[] = {"ggml_debug:", "common_debug_cb_eval:"};
constexpr std::size_t corner = 3;

// Removes the text up to and with `end`, and returns what was before it; all if there is no `end`.
std::string_view take_until(std::string_view end, std::string_view& text) {
  const std::size_t place = std::min(text.find(end), text.size());
  const std::string_view taken = trimmed(text.substr(0, place));
  text.remove_prefix(std::min(place + end.size(), text.size()));
  return taken;
}

// Calls `item` for each printed place of an axis, and `gap` where places are left out.
template <class Gap, class Item>
void for_printed(std::size_t size, const Gap& gap, const Item& item) {
  for (std::size_t i = 0; i < size; ++i) {
    if (i == corner && size > 2 * corner) {
      gap();
      i = size - corner;
    }
    item(i);
  }
}

// Reads the text line by line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  std::vector<NamedArray> read() {
    while (!rest_.empty()) {
      next_line();
      if (std::ranges::any_of(markers, [&](auto one) { return line_.starts_with(one); }))
        read_tensor();
    }
    mark_what_is_not_rotated_yet();
    for (NamedArray& array : arrays_) {
      if (!sums_are_of_all_) array.written.part->sum.reset();
    }
    return std::move(arrays_);
  }

 private:
  void next_line() {
    if (rest_.empty()) refuse(where_, "the text ends within " + name_ + ": print it once more");
    line_ = take_until("\n", rest_);
    ++number_;
  }

  [[noreturn]] void refuse_damaged(std::string_view wanted) const {
    refuse(fmt::format("{}: line {}", where_, number_),
           "\"{}\" is not {}: the text is damaged, print it once more", printable(line_), wanted);
  }

  void expect(std::string_view text) {
    next_line();
    if (line_ != text) refuse_damaged(fmt::format("{} of {}", text, name_));
  }

  void read_tensor() {
    const bool is_newer = line_.starts_with(markers[1]);
    std::string_view rest = line_.substr(line_.find(':') + 1);
    const std::string name(take_until(" = (", rest));
    const std::string_view type = take_until(")", rest);
    const std::string operation(take_until("(", rest));
    rest.remove_prefix(std::min(rest.rfind(" = {") + 4, rest.size()));
    shape_.assign(4, 0);
    for (std::size_t a = shape_.size(); a-- > 0;) {
      shape_[a] = parse_number<std::size_t>(take_until(a > 0 ? "," : "}", rest)).value_or(0);
    }
    const bool is_whole = line_.ends_with('}') && rest.empty() && !name.empty();
    if (!is_whole || contains(shape_, 0U)) refuse_damaged("the line of a tensor");
    constexpr std::string_view printed[] = {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"};
    if (!contains(printed, type)) return;  // q4_K: without numbers
    sums_are_of_all_ = sums_are_of_all_ || is_newer;
    name_ = printable(name);
    part_ = {.places = std::vector<std::vector<std::size_t>>(shape_.size())};
    for (std::size_t outer = 0; outer < shape_[0]; ++outer) {
      read_list(1);
      part_.sum = read_sum();
      part_.places[0].push_back(outer);
    }
    for (std::size_t a = 1; a < shape_.size(); ++a) {
      for_printed(
          shape_[a], [] {}, [&](std::size_t i) { part_.places[a].push_back(i); });
    }
    keep(name, operation);
  }

  void read_list(std::size_t axis) {
    expect("[");
    for_printed(
        shape_[axis], [&] { expect("...,"); },
        [&](std::size_t) { axis == 1 ? read_list(2) : read_row(); });
    expect(axis == 1 ? "]" : "],");
  }

  void read_row() {
    const std::string wanted = fmt::format("a row of {} numbers of {}", shape_.back(), name_);
    next_line();
    if (!line_.starts_with('[') || !line_.ends_with("],")) refuse_damaged(wanted);
    std::string_view rest = line_.substr(1, line_.size() - 3);
    const auto take_gap = [&] {
      if (take_until(",", rest) != "...") refuse_damaged(wanted);
    };
    for_printed(shape_.back(), take_gap, [&](std::size_t) {
      const NumeralResult cell = parse_numeral(take_until(",", rest));
      if (cell.fault != NumeralError::none) refuse_damaged(wanted);
      part_.cells.push_back(cell.numeral);
    });
    if (!rest.empty()) refuse_damaged(wanted);
  }

  double read_sum() {
    next_line();
    std::string_view rest = line_;
    const bool is_sum = take_until(" = ", rest) == "sum";
    const auto [sum, fault] = parse_numeral(rest);
    const bool is_whole = sum.decimals == 6 || !std::isfinite(sum.value);
    if (!is_sum || fault != NumeralError::none || !is_whole) refuse_damaged("the sum of " + name_);
    return sum.value;
  }

  // True for the sum of the printed numbers alone, as older programs write it. With NaN or -inf
  // among them no sum tells.
  bool is_sum_of_printed() const {
    double sum = 0;
    double rounding = 1e-6;
    for (const Numeral& cell : part_.cells) {
      sum += cell.value;
      rounding += 0.5 * std::pow(10, -cell.decimals) + std::ldexp(std::abs(sum), -23);
    }
    return !std::isfinite(sum) || std::abs(*part_.sum - sum) <= rounding;
  }

  // Of the tensors that an operation makes under one name the last is kept, and the one before a
  // rotation. Views are left out, and what a norm is before its gain.
  void keep(std::string name, const std::string& operation) {
    sums_are_of_all_ = sums_are_of_all_ || !is_sum_of_printed();
    const bool is_view = name.find(" (") != std::string::npos || operation == "PERMUTE";
    if (is_view || name.starts_with("norm") || name.starts_with("node_")) return;
    if (const std::size_t bias = name.find("_b-"); bias != std::string::npos) name.erase(bias, 2);
    constexpr std::string_view heads = "kqv_out-";  // of newer programs: before W_O
    if (name.starts_with(heads) && operation != "MUL_MAT" && operation != "ADD")
      name.replace(0, heads.size(), "kqv_merged_cont-");
    const std::string made = name + operation;
    if (first_ == made) refuse_second(name);  // of another number of tokens, perhaps
    if (first_.empty()) first_ = made;
    const auto same = places_.find(name);
    if (same != places_.end()) {
      const Kept& before = same->second;
      if (operation == "RESHAPE" || operation == "VIEW") return;  // the same numbers
      if (operation == before.operation && shape_ == arrays_[before.place].written.shape)
        refuse_second(name_);
      if (operation == rotation)
        put(name + before_it, before.operation, std::move(arrays_[before.place].written));
    }
    constexpr std::string_view merged = "kqv_merged-";  // and Qcur, Kcur and Vcur
    const bool heads_inside = name.substr(1).starts_with("cur") || name.starts_with(merged);
    put(name, operation,
        {.shape = std::move(shape_), .part = std::move(part_), .heads_inside = heads_inside});
  }

  [[noreturn]] void refuse_second(const std::string& name) const {
    refuse(where_, name + " is there twice: print one evaluation alone");
  }

  // A text may end before the rotation, or leave it out. Models without one are shown by scores.
  void mark_what_is_not_rotated_yet() {
    const bool are_rotated = std::ranges::any_of(
        places_, [](const auto& one) { return one.second.operation == rotation; });
    for (const auto& [name, kept] : places_) {
      const bool is_query_or_key = name.starts_with("Qcur-") || name.starts_with("Kcur-");
      if (!is_query_or_key || kept.operation == rotation || name.ends_with(before_it)) continue;
      const bool is_whole = !are_rotated && places_.contains("kq" + name.substr(name.find('-')));
      if (!is_whole && !places_.contains(name + before_it)) arrays_[kept.place].name += before_it;
    }
  }

  void put(const std::string& name, const std::string& operation, ParsedArray written) {
    Kept& kept = places_.try_emplace(name, Kept{arrays_.size(), {}}).first->second;
    kept.operation = operation;
    if (kept.place == arrays_.size()) arrays_.push_back({.name = name, .written = {}});
    arrays_[kept.place].written = std::move(written);
  }

  static constexpr std::string_view rotation = "ROPE";
  static constexpr const char* before_it = " before ROPE";

  struct Kept {
    std::size_t place;  // among the arrays
    std::string operation;
  };

  std::string_view rest_;
  const std::string& where_;
  std::string_view line_ = {};
  std::size_t number_ = 0;  // of the line, from 1
  std::string name_ = {};   // of the tensor that is read
  Shape shape_ = {};        // {ne3, ne2, ne1, ne0}
  PrintedPart part_ = {};
  std::vector<NamedArray> arrays_ = {};
  std::map<std::string, Kept> places_ = {};
  std::string first_ = {};        // name and operation of the first tensor
  bool sums_are_of_all_ = false;  // also of the numbers that are not printed
};

}  // namespace
}  // namespace eval_callback

bool is_eval_callback(std::string_view text) {
  return std::ranges::any_of(eval_callback::markers, [&](std::string_view marker) {
    return text.starts_with(marker) || text.find(fmt::format("\n{}", marker)) != text.npos;
  });
}

std::vector<NamedArray> read_eval_callback(std::string_view text, const std::string& where) {
  return eval_callback::Reader(text, where).read();
}

}  // namespace qkv::inline formats
