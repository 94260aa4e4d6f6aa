#include "trace/trace.hpp"

#include <unordered_map>

#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline trace {
namespace {

// Splits at commas outside quotes. Quotes are kept, since "2" is a label and 2 an index. A quote
// that none closes at the end of its part is a label itself.
std::vector<std::string> split(std::string_view inside) {
  std::vector<std::string> parts;
  const auto is_end_of_part = [&](std::size_t i) {
    i = inside.find_first_not_of(' ', i);
    return i == inside.npos || inside[i] == ',';
  };
  for (std::size_t start = 0;; ++start) {
    start = std::min(inside.find_first_not_of(' ', start), inside.size());
    std::size_t end = start;
    if (inside.substr(start).starts_with('"')) {
      end = inside.find('"', start + 1);
      while (end != inside.npos && !is_end_of_part(end + 1)) end = inside.find('"', end + 1);
      if (end == inside.npos) end = start;
    }
    end = std::min(inside.find(',', end), inside.size());
    parts.emplace_back(trimmed(inside.substr(start, end - start), " "));
    if (end == inside.size()) return parts;
    start = end;
  }
}

std::size_t checked(std::size_t number, std::size_t size, std::string_view what,
                    const std::string& where) {
  if (number >= 1 && number <= size) return number - 1;
  throw InputError("{}: there is no {} {}; {}", where, what, number,
                   size == 0 ? "there are none" : fmt::format("they count from 1 to {}", size));
}

// The label that older programs generated in files and pages: "d2" for features, "token 3" if the
// axis has a name, else "row 3".
std::string older_label(const Axis& axis, std::size_t i, std::string_view otherwise) {
  if (axis.name.empty()) return fmt::format("{} {}", otherwise, i + 1);
  const bool is_feature = axis.name.starts_with("d_") || axis.name.starts_with("h·");
  return is_feature ? fmt::format("d{}", i + 1) : fmt::format("{} {}", axis.name, i + 1);
}

// Returns the index of a generated label.
std::optional<std::size_t> made_up_place(std::string_view label, const Axis& axis,
                                         std::size_t batch, std::string_view what) {
  const std::size_t digits = label.find_last_not_of("0123456789") + 1;
  const auto number = parse_number<std::size_t>(label.substr(digits));
  if (digits == 0 || !number || *number < 1 || *number > axis.size) return {};
  const std::size_t place = *number - 1;
  if (!axis.label(place, batch).empty() || older_label(axis, place, what) != label) return {};
  return place;
}

// Returns the label behind a displayed one: "␣cat" is " cat", "␊" a line break.
std::string as_written(std::string_view shown) {
  std::string text(shown);
  for (const auto& [sign, written] : {std::pair{"␣", " "}, {"␊", "\n"}, {"␉", "\t"}}) {
    text = replace_all(text, sign, written);
  }
  return text;
}

// Returns the index of a label along an axis.
std::size_t labelled(std::string_view label, const Axis& axis, std::size_t batch,
                     std::string_view what, const std::string& where) {
  const std::vector<std::size_t> places = places_of_label(label, axis, batch);
  if (places.size() == 1) return places.front();
  if (places.size() > 1) {
    const auto numbers = mapped(places, [](std::size_t place) { return place + 1; });
    throw InputError("{}: \"{}\" stands at {} {}; write the number", where, label,
                     what == "row" ? "rows" : "columns", fmt::join(numbers, " and "));
  }
  if (const auto place = made_up_place(label, axis, batch, what)) return *place;
  std::vector<std::string_view> known;  // empty texts if there are none
  for (std::size_t i = 0; i < axis.size; ++i) known.push_back(axis.label(i, batch));
  const std::string all = fmt::format("they count from 1 to {}", axis.size);
  throw InputError("{}: no {} is called \"{}\"; {}", where, what, label,
                   did_you_mean(label, known, all));
}

std::size_t index_along(std::string_view index, const Axis& axis, std::size_t batch,
                        std::string_view what, const std::string& where) {
  const auto number = parse_number<std::size_t>(index);
  if (number && (*number - 1 < axis.size || places_of_label(index, axis, batch).empty()))
    return checked(*number, axis.size, what, where);
  if (index.size() >= 2 && index.front() == '"' && index.back() == '"') {
    index = index.substr(1, index.size() - 2);
  }
  return labelled(index, axis, batch, what, where);
}

// Parses "head 2" or "2" for a leading axis.
std::size_t leading_place(std::string_view index, const Axis& axis, const std::string& where) {
  const std::string_view name = axis.name.empty() ? "head" : std::string_view(axis.name);
  std::string_view number = index;
  if (number.starts_with(name)) number = trimmed(number.substr(name.size()), " ");
  if (const auto value = parse_number<std::size_t>(number))
    return checked(*value, axis.size, name, where);
  throw InputError("{}: \"{}\" is no {}; write {} 1 to {} {}", where, index, name, name, name,
                   axis.size);
}

constexpr std::string_view leading_indices = "{} {},";  // before those of the row and the column

// With the row and the column that were written, if only the head is missing.
std::string example_of(const ReferenceText& text, const Tensor& tensor) {
  const std::string cell =
      text.indices.size() == 2 ? fmt::format("{}", fmt::join(text.indices, ",")) : "1,1";
  return fmt::format("{}[{}{}]", text.name, leading_text(tensor, 0, leading_indices), cell);
}

// The label of index `i` in a reference, or its number if several indices share the label.
std::string word_for(std::string_view label, std::size_t i, std::size_t places) {
  const bool ends_its_quotes = label.find('"') != label.npos && label.find(',') != label.npos;
  const bool is_no_word = label.empty() || parse_number<std::size_t>(label) || ends_its_quotes;
  if (is_no_word || places > 1) return std::to_string(i + 1);
  const bool plain = label.find_first_of(",[]\" ") == std::string_view::npos;
  return plain ? std::string(label) : fmt::format("\"{}\"", label);
}

}  // namespace

ReferenceText parse_reference(std::string_view written) {
  const std::string plain = with_plain_blanks(written);  // a page has no-break spaces
  const std::string_view text = trimmed(plain, " ");
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || open == 0 || text.back() != ']') {
    throw InputError("\"{}\" is not a cell; write the matrix and the cell: scores[3,2]", text);
  }
  ReferenceText reference{.name = std::string(trimmed(text.substr(0, open), " ")), .indices = {}};
  reference.indices = split(text.substr(open + 1, text.size() - open - 2));
  return reference;
}

CellReference resolve_in(const ReferenceText& text, const Tensor& tensor,
                         TokenLayout token_layout) {
  const std::string where = fmt::format("{}[{}]", text.name, fmt::join(text.indices, ","));
  const std::size_t rank = tensor.rank();
  const bool is_vector = rank == 1;
  const std::size_t given = text.indices.size();
  if (given != rank && !(is_vector && given == 2)) {
    throw InputError("{}: {} is {} and takes {} {}, as in {}", where, text.name,
                     shown_shape(tensor, token_layout), rank, rank == 1 ? "index" : "indices",
                     is_vector ? text.name + "[1]" : example_of(text, tensor));
  }
  CellReference cell{.name = text.name};
  std::size_t batch = 0;
  for (std::size_t a = 0; a < tensor.leading_axes(); ++a) {
    const std::size_t place = leading_place(text.indices[a], tensor.axes[a], where);
    if (a == 0) batch = place;
    cell.matrix = cell.matrix * tensor.axes[a].size + place;
  }
  const Axis one_row{.name = "", .size = 1};
  const bool is_transposed = is_shown_transposed(tensor, token_layout);
  const Axis& rows = is_vector ? one_row : tensor.axes[is_transposed ? rank - 1 : rank - 2];
  const Axis& columns = tensor.axes[is_transposed ? rank - 2 : rank - 1];
  if (given > 1) cell.row = index_along(text.indices[given - 2], rows, batch, "row", where);
  // In the ids of a batch each row has its own words.
  const std::size_t sentence = tensor.leading_axes() == 0 ? cell.row : batch;
  cell.column = index_along(text.indices[given - 1], columns, sentence, "column", where);
  if (is_transposed) std::swap(cell.row, cell.column);
  return cell;
}

CellReference find_cell(std::string_view text, const Trace& trace) {
  const std::string_view name = trimmed(text, " ");
  // Throws, with a suggestion, if there is no such matrix.
  const Tensor* tensor = contains(name, '[') ? nullptr : &trace.at(name);
  if (!tensor || tensor->values.empty()) return resolve(parse_reference(text), trace);
  const CellReference cell{.name = std::string(name),
                           .row = std::min<std::size_t>(2, tensor->rows() - 1),
                           .column = std::min<std::size_t>(1, tensor->columns() - 1)};
  throw InputError("{} is {}; write one of its cells: '{}'", name,
                   shown_shape(*tensor, trace.token_layout),
                   reference_text(cell, *tensor, trace.token_layout));
}

CellReference resolve(const ReferenceText& text, const Trace& trace) {
  return resolve_in(text, trace.at(text.name), trace.token_layout);
}

std::vector<CellReference> resolve_all(const ReferenceText& text, const Trace& trace) {
  const auto star = std::find(text.indices.begin(), text.indices.end(), "*");
  if (star == text.indices.end()) return {resolve(text, trace)};
  const auto place = static_cast<std::size_t>(star - text.indices.begin());
  ReferenceText one = text;
  const auto at = [&](std::size_t i) {
    one.indices[place] = std::to_string(i + 1);
    return resolve_all(one, trace);
  };
  std::vector<CellReference> cells = at(0);  // throws if the other indices are wrong
  Shape sizes = shape_as_shown(trace.at(text.name), trace.token_layout);
  if (sizes.size() < text.indices.size()) sizes.insert(sizes.begin(), 1);  // a vector is one row
  for (std::size_t i = 1; i < sizes[place]; ++i) {
    const std::vector<CellReference> more = at(i);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  return cells;
}

std::vector<std::size_t> places_of_label(std::string_view label, const Axis& axis,
                                         std::size_t batch) {
  std::vector<std::size_t> places;
  for (const std::string& text : {std::string(label), as_written(label)}) {
    if (!places.empty() || text.empty()) continue;
    places = places_where(axis.size, [&](std::size_t i) { return axis.label(i, batch) == text; });
    if (!places.empty()) continue;
    places = places_where(axis.size, [&, nfc = composed(text)](std::size_t i) {
      return composed(axis.label(i, batch)) == nfc;
    });
  }
  return places;
}

std::string index_word(const Axis& axis, std::size_t i, std::size_t batch) {
  const std::string_view label = axis.label(i, batch);
  std::size_t places = 0;
  for (std::size_t j = 0; j < axis.size; ++j) places += axis.label(j, batch) == label ? 1 : 0;
  return word_for(label, i, places);
}

std::vector<std::string> index_words(const Axis& axis, std::size_t batch) {
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(axis.size);
  for (std::size_t i = 0; i < axis.size; ++i) ++places[axis.label(i, batch)];
  return mapped_places(axis.size, [&](std::size_t i) {
    const std::string_view label = axis.label(i, batch);
    return word_for(label, i, places.at(label));
  });
}

CellReference cell_at(std::string name, const Tensor& tensor, std::size_t index) {
  const std::size_t columns = tensor.columns();
  const std::size_t cells = tensor.rows() * columns;
  return {std::move(name), index / cells, index % cells / columns, index % columns};
}

std::string reference_text(const CellReference& cell, const Tensor& tensor,
                           TokenLayout token_layout) {
  const std::string inside = leading_text(tensor, cell.matrix, leading_indices);
  const std::vector<std::size_t> leading = leading_index(tensor, cell.matrix);
  const std::size_t batch = leading.empty() ? cell.row : leading.front();
  const std::string column = index_word(tensor.axes.back(), cell.column, batch);
  if (tensor.rank() == 1) return fmt::format("{}[{}]", cell.name, column);
  const std::string row =
      index_word(tensor.axes[tensor.rank() - 2], cell.row, leading.empty() ? 0 : leading.front());
  return is_shown_transposed(tensor, token_layout)
             ? fmt::format("{}[{}{},{}]", cell.name, inside, column, row)
             : fmt::format("{}[{}{},{}]", cell.name, inside, row, column);
}

}  // namespace qkv::inline trace
