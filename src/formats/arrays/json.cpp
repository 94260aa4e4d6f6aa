#include "formats/arrays/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <unordered_set>

#include "formats/arrays/nested_list.hpp"
#include "formats/handwork/cell.hpp"
#include "text/error.hpp"
#include "text/strings.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = NestedList::deepest;
constexpr std::string_view example = "write rows of numbers: [[1, 2], [3, 4]]";

/// Names that only say that matrices follow; any other object's name is a part of theirs.
constexpr std::string_view wrappers[] = {"steps",   "givens", "arrays", "matrices",
                                         "tensors", "values", "data",   "submission"};
/// What the name and the numbers of an entry stand under in a list of objects.
constexpr std::string_view name_keys[] = {"step", "name", "key"};
constexpr std::string_view value_keys[] = {"values", "value", "matrix", "data", "numbers", "cells"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Takes nlohmann's events: they carry each number's own text, which a parsed document has lost.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(std::string_view text, const std::string& where, Unreadable unreadable)
      : text_(text), where_(where), unreadable_(unreadable) {}

  std::vector<NamedWritten> take() {
    for (NamedWritten& matrix : matrices_) settle_exact(matrix.written.cells);
    return std::move(matrices_);
  }

  bool null() override { return add({.value = std::nan("")}); }
  bool boolean(bool value) override {
    if (is_beside_matrices()) return true;
    if (unreadable_ == Unreadable::kept && reading_) return add_text(value ? "true" : "false");
    refuse("true and false are no numbers; " + std::string(example));
  }
  bool number_integer(number_integer_t value) override {
    return is_rounded(value) ? add_text(fmt::to_string(value))
                             : add({.value = static_cast<double>(value)});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return is_rounded(value) ? add_text(fmt::to_string(value))
                             : add({.value = static_cast<double>(value)});
  }
  bool number_float(number_float_t, const string_t& written) override { return add_text(written); }
  bool string(string_t& written) override {
    if (in_entry() && is_one_of(key_, name_keys)) {
      entry_name_ = written;
      return true;
    }
    const std::string_view text = trimmed(written);
    if (!text.empty() && is_beside_matrices() &&
        parse_cell(text).fault == NumeralFault::not_a_number) {
      return true;
    }
    return text.empty() ? null() : add_text(text);
  }
  bool binary(binary_t&) override { refuse("binary data are no numbers"); }

  bool start_object(std::size_t) override {
    const bool opens_a_list = reading_ && builder_.is_list_without_numbers();
    if (reading_ && !opens_a_list) {
      refuse("an object stands where numbers were expected; " + std::string(example));
    }
    if (opens_a_list) {  // [{"step": "Q", "values": [[…]]}, …]
      reading_ = false;
      names_.erase(matrices_.back().name);
      matrices_.pop_back();
      objects_.push_back({.kind = Object::Kind::list});
    }
    if (!objects_.empty() && objects_.back().kind == Object::Kind::list) {
      objects_.push_back({.kind = Object::Kind::entry});
      entry_name_.clear();
      entry_start_ = matrices_.size();
      return true;
    }
    if (objects_.size() == deepest) {
      refuse(fmt::format("objects are nested more than {} deep", deepest));
    }
    const bool named = !objects_.empty() && !is_one_of(key_, wrappers);
    objects_.push_back(
        {.kind = Object::Kind::names, .prefix = objects_.empty() ? "" : objects_.back().prefix});
    if (named) objects_.back().prefix += key_ + ".";
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool end_object() override {
    const bool was_entry = in_entry();
    objects_.pop_back();
    if (was_entry) return name_entry();
    if (objects_.empty() && matrices_.empty()) {
      refuse("there is nothing in it; " + std::string(example));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    start();
    told(builder_.open());
    return true;
  }
  bool end_array() override {
    if (!reading_ && !objects_.empty() && objects_.back().kind == Object::Kind::list) {
      objects_.pop_back();
      return true;
    }
    told(builder_.close());
    finish();
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // Its message names the kind of error by a number: 406 is a number too large for a double.
    constexpr int out_of_range = 406;
    if (error.id == out_of_range) refuse(qkv::refusal(NumeralFault::too_large, token));
    const std::string_view before =
        text_.substr(0, std::min(position == 0 ? 0 : position - 1, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    const bool at_end = before.size() >= trimmed(text_).size();
    throw InputError(fmt::format(
        "{}: line {}, column {}: {}; {}", where_, line, column,
        at_end ? "the text ends too early, or something is missing" : "this is no JSON", example));
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    const std::string name =
        objects_.empty() || key_.empty() ? key_ : objects_.back().prefix + key_;
    throw InputError(name.empty() ? fmt::format("{}: {}", where_, why)
                                  : fmt::format("{}, {}: {}", where_, printable(name), why));
  }

  void told(const NestedList::Fault& fault) const {
    if (!fault.empty()) refuse(fault + ": " + std::string(example));
  }

  struct Object {
    enum class Kind { names, list, entry };
    Kind kind = Kind::names;
    std::string prefix = {};
  };

  bool in_entry() const { return !objects_.empty() && objects_.back().kind == Object::Kind::entry; }

  // A title or a date beside a learner's matrices.
  bool is_beside_matrices() const {
    return unreadable_ == Unreadable::kept && !reading_ && !objects_.empty();
  }

  void start() {
    if (reading_) return;
    reading_ = true;
    builder_ = {};
    const bool named = !objects_.empty() && !in_entry();
    matrices_.push_back({.name = named ? objects_.back().prefix + key_ : "", .written = {}});
    if (named) take_name(matrices_.back().name);
  }

  void take_name(const std::string& name) {
    if (names_.insert(name).second) return;
    refuse(fmt::format("\"{}\" stands in it twice", printable(name)));
  }

  // Of an entry's numbers those count that stand under a word for them.
  bool name_entry() {
    if (matrices_.size() == entry_start_) return true;
    matrices_.resize(entry_start_ + 1);
    matrices_.back().name = entry_name_;
    if (!entry_name_.empty()) take_name(entry_name_);
    return true;
  }

  void finish() {
    if (!builder_.is_complete()) return;
    reading_ = false;
    if (in_entry() && !is_one_of(key_, value_keys)) return matrices_.pop_back();  // put aside
    Written written = builder_.take();
    written.unread = std::move(matrices_.back().written.unread);
    matrices_.back().written = std::move(written);
  }

  bool add(Numeral cell) {
    if (objects_.empty() && !reading_) refuse(std::string(example));
    start();
    told(builder_.add(cell));
    finish();
    return true;
  }

  bool add_text(std::string_view written) {
    const NumeralResult result = parse_cell(written, mark_of(written));
    if (result.fault == NumeralFault::none) return add(result.numeral);
    if (unreadable_ == Unreadable::refused) refuse(refusal(result.fault, written));
    start();
    return add(keep_unread(matrices_.back().written, written));
  }

  std::string_view text_;
  const std::string& where_;
  Unreadable unreadable_;
  std::vector<NamedWritten> matrices_;
  std::unordered_set<std::string> names_;
  NestedList builder_;
  std::vector<Object> objects_;  ///< that are open
  std::string key_;              ///< the last one
  std::string entry_name_;
  std::size_t entry_start_ = 0;
  bool reading_ = false;
};

/// A word that Python writes and JSON does not know, and something as long that it does.
struct Word {
  std::string_view python;
  std::string_view json;
};
constexpr Word words[] = {
    {"-Infinity", R"("-inf"   )"}, {"Infinity", R"("inf"   )"}, {"NaN", R"("" )"}};

const Word* word_at(std::string_view text) {
  if (text.front() != '-' && text.front() != 'I' && text.front() != 'N') return nullptr;
  for (const Word& word : words) {
    if (text.starts_with(word.python)) return &word;
  }
  return nullptr;
}

/// The text with what JSON's reader stops at, outside strings, put in words: Python's NaN and
/// Infinity in as many letters, and numbers that no double holds as strings.
std::string in_words(std::string_view text) {
  constexpr std::string_view of_numbers = "+-.0123456789eE";
  std::string result;
  result.reserve(text.size());
  std::size_t done = 0;
  const auto replace = [&](std::size_t first, std::size_t size, std::string_view by) {
    result.append(text.substr(done, first - done)).append(by);
    done = first + size;
  };
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (const Word* word = word_at(text.substr(i))) {
      replace(i, word->python.size(), word->json);
      i = done - 1;
    } else if (c >= '0' && c <= '9') {
      const std::size_t end = std::min(text.find_first_not_of(of_numbers, i), text.size());
      const std::size_t first = i > done && text[i - 1] == '-' ? i - 1 : i;
      const std::string_view number = text.substr(first, end - first);
      const bool may_be_large = number.size() > 300 || number.find_first_of("eE") != number.npos;
      if (may_be_large && parse_numeral(number).fault == NumeralFault::too_large) {
        replace(first, number.size(), fmt::format("\"{}\"", number));
      }
      i = end - 1;
    }
  }
  return result.append(text.substr(done));
}

}  // namespace

std::vector<NamedWritten> read_json(std::string_view text, const std::string& where,
                                    Unreadable unreadable) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (trimmed(text).empty())
    throw InputError(where + ": the file is empty: " + std::string(example));
  const std::string plain = in_words(text);
  Reader reader(plain, where, unreadable);
  Json::sax_parse(plain, &reader);
  return reader.take();
}

}  // namespace qkv
