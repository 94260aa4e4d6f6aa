#include "check/compare/side.hpp"

#include "check/intake/layout.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline check {
namespace {

// A matrix that was too large to be read has a shape, and no number that anything could equal.
Tensor tensor_of_written(const ParsedArray& written) {
  if (written.cells.empty()) {
    const auto blanks = [](std::size_t, std::span<double> cells) {
      std::ranges::fill(cells, std::nan(""));
    };
    return tensor_of(written.shape, Values::lazy(element_count(written.shape, "an array"),
                                                 written.shape.back(), blanks));
  }
  Tensor tensor = tensor_of(written.shape, written.cells.values());
  if (tensor.rank() == 2) {
    tensor.axes[0].labels = written.row_labels;
    tensor.axes[1].labels = written.column_labels;
  }
  return tensor;
}

std::optional<int> decimals_of(const ParsedArray& written) {
  if (written.precision != Precision::digits) return {};
  int most = 0;
  for (const Numeral& cell : written.cells) {
    if (std::isfinite(cell.value)) most = std::max<int>(most, cell.decimals);
  }
  return most;
}

// Returns where an array of this shape has its heads, if they can be elsewhere than in front.
std::optional<HeadLayout> head_layout(const Shape& wanted, const Shape& written) {
  if (wanted.size() < 3) return {};
  for (const HeadLayout layout :
       {HeadLayout::stacked, HeadLayout::side_by_side, HeadLayout::inside}) {
    if (has_head_layout(layout, wanted, written) &&
        (layout == HeadLayout::inside || wanted[wanted.size() - 3] > 1))
      return layout;
  }
  return {};
}

// Moves heads to the front, if they can be elsewhere. Returns where they were, or an empty text.
std::string_view put_heads_first(const Shape& wanted, ParsedArray& written) {
  const auto layout = head_layout(wanted, written.shape);
  if (!layout) return {};
  written.shape = wanted;
  if (layout == HeadLayout::stacked) return "heads one below the other";
  written.cells = with_axes_swapped(written.cells, wanted[wanted.size() - 2],
                                    wanted[wanted.size() - 3], wanted.back());
  return layout == HeadLayout::side_by_side ? "heads side by side" : "heads inside";
}

// Names the gradients of weights that stand in × out (PyTorch's nn.Linear stores them out × in).
std::set<std::string> gradients_of_in_out_weights(const Trace& trace) {
  std::set<std::string> names;
  for (const Step& step : trace.steps) {
    const bool is_linear = step.operation == &project_operation && step.of.size() > 1 &&
                           step.options.word("layout", "in-out") == "in-out";
    if (is_linear) names.insert("d_" + step.of[1]);
  }
  return names;
}

// Puts heads side by side, as one weight for all heads has them.
Tensor with_flat_heads(const Tensor& tensor) {
  if (tensor.rank() != 3) return tensor;
  Tensor flat = zeros({{.name = "", .size = tensor.rows()},
                       {.name = "", .size = tensor.matrices() * tensor.columns()}});
  put(xt::transpose(tensor.array<3>(), {1, 0, 2}), flat.values.mutable_span());
  return flat;
}

// Whether a weight stands out × in: by its shape 2 or -2; where that fits both ways, by its numbers
// 1 or -1; 0 if nothing shows it.
int out_in_evidence(const Tensor& wanted, const Tensor& weight) {
  const Tensor flat = with_flat_heads(wanted);
  const bool is_flat = weight.shape() == flat.shape();
  const bool fits = is_flat || head_layout(wanted.shape(), weight.shape());
  if (flat.shape() != Shape{weight.columns(), weight.rows()}) return fits ? -2 : 0;
  if (!fits) return 2;
  const auto likeness = [](const Tensor& one, const Tensor& other) {
    return std::abs(error_statistics(one.values, other.values).cosine);
  };
  const double out_in = likeness(transposed(weight), flat);
  const double in_out = likeness(weight, is_flat ? flat : wanted);
  if (std::max(out_in, in_out) < 0.5) return 0;
  return static_cast<int>(out_in > in_out) - static_cast<int>(out_in < in_out);
}

// Transposes a side's weights, or their gradients, if most of them stand out × in. A lone square
// one is no evidence; of a program whose model stores them so, it stands so.
void transpose_weights(bool gradients, const ComparedSideIndex& index, ComparedSide& side) {
  std::vector<ComparedMatrix*> weights;
  int evidence = 0;
  for (ComparedMatrix& matrix : side.matrices) {
    const ComparedMatrix* wanted = index.find(matrix.name);
    if (wanted == nullptr || !wanted->is_weight || wanted->is_given == gradients) continue;
    if (matrix.written.shape.size() != 2) continue;
    const Shape flat = with_flat_heads(wanted->tensor).shape();
    const int shown = out_in_evidence(wanted->tensor, matrix.tensor);
    evidence += shown;
    if (shown != 0 || matrix.written.shape == transposed(flat)) weights.push_back(&matrix);
  }
  const bool is_known = !side.scheme.empty() && index.side().stores_out_in;
  if (evidence < (is_known ? -1 : 2)) return;
  for (ComparedMatrix* matrix : weights) {
    Shape& shape = matrix->written.shape;
    matrix->written.cells = with_axes_swapped(matrix->written.cells, shape[0], shape[1], 1);
    std::swap(shape[0], shape[1]);
    std::swap(matrix->written.row_labels, matrix->written.column_labels);
    matrix->tensor = tensor_of_written(matrix->written);
    matrix->layout = "out × in, as PyTorch stores weights: transposed";
  }
}

// A cache of keys is longer than the text: its other keys are 0.
void drop_padded_keys(const Tensor& wanted, ParsedArray& written) {
  const std::size_t columns = wanted.columns();
  if (wanted.axes.back().name != "key" || written.shape.back() <= columns) return;
  PrintedPart& part = *written.part;
  std::vector<std::size_t>& keys = part.places.back();
  Numerals cells;
  for (std::size_t i = 0; i < part.cells.size(); ++i) {
    const bool is_kept = keys[i % keys.size()] < columns;
    if (is_kept) cells.push_back(part.cells[i]);
    if (!is_kept && part.cells[i].value != 0) return;
  }
  part.cells = std::move(cells);
  std::erase_if(keys, [&](std::size_t key) { return key >= columns; });
  written.shape.back() = columns;
}

// Puts a printed part into an array of all cells, if it has no more than it should.
void spread_part(const Tensor& wanted, ComparedMatrix& matrix) {
  ParsedArray& written = matrix.written;
  drop_padded_keys(wanted, written);
  const std::size_t count = element_count(written.shape, "an array");
  if (count <= wanted.values.size()) {
    const PrintedPart& part = *written.part;
    Numerals cells(count, Numeral{.value = std::nan(""), .left_out = true});
    for (std::size_t i = 0; i < part.cells.size(); ++i) {
      std::size_t cell = 0;
      std::size_t stride = 1;
      std::size_t rest = i;
      for (std::size_t a = part.places.size(); a-- > 0;) {
        cell += part.places[a][rest % part.places[a].size()] * stride;
        rest /= part.places[a].size();
        stride *= written.shape[a];
      }
      cells[cell] = part.cells[i];
    }
    written.cells = std::move(cells);
    matrix.printed = part.cells.size() < count ? part.cells.size() : 0;
    if (matrix.printed > 0) matrix.sum = part.sum;
    matrix.decimals = decimals_of(written);
  }
  matrix.tensor = tensor_of_written(written);
}

// Cuts a sentence, from 1, out of a printed part of four axes. False if it is none of a batch.
bool take_printed_sentence(std::size_t sentence, ParsedArray& written) {
  PrintedPart& part = *written.part;
  const std::vector<std::size_t>& sentences = part.places.front();
  const auto found = std::ranges::find(sentences, sentence - 1);
  if (written.shape.size() < 4 || written.shape.front() < 2 || found == sentences.end())
    return false;
  const auto size = std::ssize(part.cells) / std::ssize(sentences);
  const auto first = part.cells.begin() + (found - sentences.begin()) * size;
  part.cells = Numerals(first, first + size);
  part.places.erase(part.places.begin());
  part.sum.reset();
  written.shape.erase(written.shape.begin());
  return true;
}

// Gives cells that were not printed the expected numbers: no difference is found there.
void fill_left_out(const Tensor& expected, ComparedMatrix& matrix) {
  if (matrix.printed == 0) return;
  const std::span<double> values = matrix.tensor.values.mutable_span();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (matrix.written.cells[i].left_out) values[i] = expected.values[i];
  }
}

// Cuts a sentence, from 1, out of a batch. False if the array is no such batch.
bool take_sentence(const Shape& wanted, std::size_t sentence, ParsedArray& written) {
  if (written.cells.empty() || written.shape.size() < 2 || written.shape.size() < wanted.size() ||
      written.shape == wanted || head_layout(wanted, written.shape) ||
      written.shape.front() < sentence)
    return false;
  const std::size_t size = written.cells.size() / written.shape.front();
  written.cells = written.cells.runs(1, size, [&](std::size_t) { return (sentence - 1) * size; });
  written.shape.erase(written.shape.begin());
  return true;
}

// Reorders an array's axes like a tensor's, and says how. Returns whether it holds the sentence.
bool lay_out_like(const Tensor& wanted, std::optional<std::size_t> batch, ComparedMatrix& matrix) {
  const Shape shape = without_leading_ones(wanted.shape());
  ParsedArray& written = matrix.written;
  const Shape before = written.shape;
  written.shape = without_leading_ones(written.shape, shape.size());
  bool has_sentence = batch == 1 && written.shape != before;  // a batch of one
  std::vector<std::string> said;
  if (!matrix.layout.empty()) said.push_back(matrix.layout);
  if (batch && take_sentence(shape, *batch, written)) {
    has_sentence = true;
    said.push_back(fmt::format("sentence {} of the batch", *batch));
  }
  if (written.shape != shape || written.heads_inside) {
    const std::string_view heads = put_heads_first(shape, written);
    matrix.is_arranged = !heads.empty();
    if (matrix.is_arranged) said.emplace_back(heads);
  }
  Shape with_head = shape;  // n × 1 × d where there is one head of keys
  with_head.insert(with_head.end() - 1, 1);
  if (written.shape == with_head) {
    written.shape = shape;
    said.emplace_back("without its axis of one head");
  }
  if (said.empty()) {
    written.shape = before;
  } else {
    matrix.layout = fmt::format("{}", fmt::join(said, ", "));
    matrix.tensor = tensor_of_written(written);
  }
  return has_sentence;
}

// A map from or to an unknown name would be ignored silently, or hide a difference.
[[noreturn]] void refuse_idle(const NameMap& map, std::string_view name, const ComparedSide& side) {
  const ComparedSideIndex index(side);
  const std::string all = fmt::format("it has {}", abbreviated_list(index.names()));
  throw InputError("--map {}={}: {} has no array \"{}\"; {}", map.theirs, map.ours, side.name, name,
                   did_you_mean(name, index.names(), all));
}

bool are_near(std::span<const double> numbers, std::span<const double> right, Precision precision) {
  const bool vary =
      std::ranges::any_of(right, [&](double x) { return std::isfinite(x) && x != right.front(); });
  const double allowed =
      std::max(1e-3, 16 * rule_of(precision).nearness) * largest_magnitude(right);
  for (std::size_t i = 0; i < right.size(); ++i) {
    const bool is_masked = right[i] == -infinity && numbers[i] <= finite_mask;
    if (!is_masked && !(std::abs(numbers[i] - right[i]) <= allowed)) return false;
  }
  return vary;
}

// True if an array can be the last row alone of such a tensor: d, 1 × d, or of heads h × d, h·d.
bool may_be_last_row(const ParsedArray& written, const ComparedMatrix& whole) {
  const Tensor& tensor = whole.tensor;
  if (whole.is_given || tensor.rank() < 2 || tensor.rank() > 3 || tensor.rows() < 2) return false;
  const std::size_t heads = tensor.matrices();
  const Shape shape = without_leading_ones(written.shape);
  if (written.cells.empty() || written.cells.size() != heads * tensor.columns()) return false;
  return shape == Shape{written.cells.size()} || shape == Shape{heads, tensor.columns()} ||
         shape == Shape{heads, 1, tensor.columns()};
}

// Puts a last row into an array of all rows; the others are blank.
void spread_last_row(const Tensor& last, std::size_t rows, ComparedMatrix& matrix) {
  const std::size_t columns = last.columns();
  Numerals cells(last.values.size() * rows, Numeral{.value = std::nan("")});
  for (std::size_t i = 0; i < last.values.size(); ++i) {
    Numeral& cell = cells[((i / columns + 1) * rows - 1) * columns + i % columns];
    cell = matrix.written.cells[i];
    cell.computed = cell.computed || (cell.is_blank() && !cell.left_out);
  }
  matrix.written.shape = last.shape();
  matrix.tensor = tensor_of_written(matrix.written);
  fill_left_out(last, matrix);
  matrix.written.shape[last.rank() - 2] = rows;
  matrix.written.cells = std::move(cells);
  matrix.written.heads_inside = false;
  matrix.layout = "the last row alone";
  matrix.last_row_only = true;
}

// True if arrays stand in the order of their names, which then tells no other: those of a
// directory, or of each type of number, as the library of .safetensors writes them.
bool are_sorted_by_name(const std::vector<NamedArray>& arrays) {
  const auto are_sorted = [&](auto&& key) {
    return std::ranges::adjacent_find(arrays, [&](const NamedArray& one, const NamedArray& next) {
             return one.written.precision == next.written.precision &&
                    key(next.name) < key(one.name);
           }) == arrays.end();
  };
  return are_sorted(std::identity()) || are_sorted(sort_key);
}

}  // namespace

ComparedSideIndex::ComparedSideIndex(const ComparedSide& side) : side_(&side) {
  for (const ComparedMatrix& matrix : side.matrices) names_.add(matrix.name);
}

const ComparedMatrix* ComparedSideIndex::find(std::string_view matrix) const {
  const auto place = names_.place(matrix);
  return place ? &side_->matrices[*place] : nullptr;
}

ComparedSide compared_side(const std::string& name, const Trace& trace) {
  ComparedSide side{.name = name,
                    .whole = true,
                    .is_lesson = true,
                    .stores_out_in = trace.environment.stores_out_in};
  const std::set<std::string> weight_gradients = gradients_of_in_out_weights(trace);
  for (const Given& given : trace.givens) {
    side.matrices.push_back({.name = given.name,
                             .tensor = as_shown(given.tensor, trace.token_layout),
                             .is_given = true,
                             .is_weight = weight_gradients.contains("d_" + given.name)});
  }
  for (const Step& step : trace.steps) {
    side.matrices.push_back({.name = step.name,
                             .tensor = as_shown(step.output, trace.token_layout),
                             .masks_cells = step.operation->masks_cells,
                             .is_weight = weight_gradients.contains(step.name)});
  }
  for (const ComparedMatrix& matrix : side.matrices) side.order.push_back(matrix.name);
  return side;
}

ComparedSide compared_side(const std::string& name, ArrayCollection dump) {
  ComparedSide side{.name = name,
                    .whole = dump.whole_lesson,
                    .incomplete_export = dump.incomplete_export,
                    .order = std::move(dump.listed),
                    .is_sorted_by_name = are_sorted_by_name(dump.matrices),
                    .notes = std::move(dump.notes),
                    .unreadable_files = std::move(dump.unreadable_files)};
  for (NamedArray& matrix : dump.matrices) {
    if (contains(matrix.written.shape, 0U)) {
      side.unreadable_files.push_back(
          {matrix.name, fmt::format("{}, {} has no numbers", name, matrix.name)});
      continue;
    }
    side.matrices.push_back({.name = std::move(matrix.name),
                             .tensor = tensor_of_written(matrix.written),
                             .precision = matrix.written.precision,
                             .decimals = decimals_of(matrix.written),
                             .written = std::move(matrix.written),
                             .open_name = std::move(matrix.open_name)});
  }
  return side;
}

void adopt_names(const ComparedSide& other, ComparedSide& side) {
  std::map<std::string, std::vector<std::string_view>> known;
  std::map<std::string, std::vector<ComparedMatrix*>> found;
  for (const ComparedMatrix& matrix : other.matrices)
    known[loose_name(matrix.name)].push_back(matrix.name);
  for (ComparedMatrix& matrix : side.matrices) found[loose_name(matrix.name)].push_back(&matrix);
  for (const auto& [name, matrices] : found) {
    const auto names = known.find(name);
    if (names == known.end() || names->second.size() > 1 || matrices.size() > 1) continue;
    matrices.front()->name = names->second.front();
  }
}

void adopt_names_of_scheme(ComparedSide& one, ComparedSide& other) {
  for (auto [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    Trace known;
    for (const ComparedMatrix& matrix : from->matrices) {
      if (matrix.tensor.rank() > 0) known.add(Given{matrix.name, matrix.tensor});
    }
    ArrayCollection dump;
    dump.matrices = mapped(to->matrices, [](const ComparedMatrix& matrix) {
      return NamedArray{matrix.name, matrix.written};
    });
    to->scheme = adopt_scheme(
        {}, known, [](std::string_view) { return false; }, dump.matrices);
    if (to->scheme.empty()) continue;
    to->matrices = compared_side(to->name, std::move(dump)).matrices;
    return;
  }
}

void map_names(const std::vector<NameMap>& maps, const ComparedSide& other, ComparedSide& side) {
  const ComparedSideIndex known(other);
  std::map<std::string, std::string> names;  // the arrays' own, by their new ones
  for (ComparedMatrix& matrix : side.matrices) {
    const auto found = mapped_name(maps, matrix.name);
    const std::string own = matrix.name;
    if (found) matrix.name = found->name;
    const auto [before, is_free] = names.try_emplace(matrix.name, own);
    if (!is_free) {
      throw InputError("--map: {} and {} of {} would both be {}; map each to a name of its own",
                       printable(before->second), printable(own), side.name,
                       printable(matrix.name));
    }
  }
  for (const NameMap& map : maps) {  // also one of which more specific maps take all that it fits
    bool fits = false, is_known = false;
    for (const auto& [name, own] : names) {
      const auto alone = mapped_name({map}, own);
      fits = fits || alone;
      is_known = is_known || (alone && known.find(alone->name) != nullptr);
    }
    if (!fits) refuse_idle(map, map.theirs, side);
    if (!is_known) refuse_idle(map, map.ours, other);
  }
}

void match_layout(const ComparedSide& other, std::optional<std::size_t> batch, ComparedSide& side) {
  const ComparedSideIndex index(other);
  bool has_sentence = !batch;
  for (ComparedMatrix& matrix : side.matrices) {
    const ComparedMatrix* wanted = matrix.written.part ? index.find(matrix.name) : nullptr;
    if (wanted == nullptr) continue;
    if (batch && take_printed_sentence(*batch, matrix.written)) {
      has_sentence = true;
      matrix.layout = fmt::format("sentence {} of the batch", *batch);
    }
    spread_part(wanted->tensor, matrix);
  }
  for (const bool gradients : {false, true}) transpose_weights(gradients, index, side);
  for (ComparedMatrix& matrix : side.matrices) {
    const ComparedMatrix* wanted = index.find(matrix.name);
    if (wanted == nullptr) continue;
    // As many tokens as heads leave open which axis is which: the numbers tell.
    const bool is_open = !other.is_lesson && !side.scheme.empty() &&
                         wanted->tensor.values.size() == matrix.tensor.values.size();
    if (is_open && likeness_of(*wanted, matrix) == Likeness::other_layout)
      matrix.written.heads_inside = true;
    if (!matrix.written.shape.empty())
      has_sentence = lay_out_like(wanted->tensor, batch, matrix) || has_sentence;
    if (wanted->tensor.values.size() == matrix.tensor.values.size())
      fill_left_out(wanted->tensor, matrix);
  }
  if (!has_sentence) {
    throw InputError(
        "--batch {0}: no array of {1} is a batch of {0} sentences or more where the other side has "
        "one; without --batch, arrays are compared whole",
        *batch, side.name);
  }
}

void take_last_rows(ComparedSide& lesson, ComparedSide& program) {
  struct Found {
    ComparedMatrix* array;
    ComparedMatrix* step;
    Tensor last;
  };
  std::vector<Found> found;
  bool is_certain = false;
  const ComparedSideIndex index(lesson);
  for (ComparedMatrix& matrix : program.matrices) {
    const ComparedMatrix* whole = index.find(matrix.name);
    if (whole == nullptr || !may_be_last_row(matrix.written, *whole)) continue;
    Tensor last = last_rows(whole->tensor);
    fill_left_out(last, matrix);
    const ErrorStatistics apart = error_statistics(matrix.tensor.values, last.values);
    is_certain = is_certain || (apart.cells > 1 && apart.cosine > 0.9);
    found.push_back({&matrix,
                     &lesson.matrices[static_cast<std::size_t>(whole - lesson.matrices.data())],
                     std::move(last)});
  }
  for (Found& one : found) {
    if (!is_certain) return;
    spread_last_row(one.last, one.step->tensor.rows(), *one.array);
    one.step->tensor = std::move(one.last);
  }
}

void arrange_program(const Trace& trace, Submission& submission) {
  ComparedSide lesson = compared_side({}, trace);
  ComparedSide program{.name = {}, .scheme = submission.scheme};
  for (const SubmittedFile& file : submission.files) {
    if (!file.leading.empty()) return;  // a file for each head
    program.matrices.push_back(
        {.name = file.name, .tensor = tensor_of_written(file.written), .written = file.written});
  }
  const ComparedSideIndex index(lesson);
  for (const bool gradients : {false, true}) transpose_weights(gradients, index, program);
  if (trace.token_layout == TokenLayout::rows) take_last_rows(lesson, program);
  std::map<std::string, std::vector<std::string>> arranged;
  for (std::size_t i = 0; i < program.matrices.size(); ++i) {
    ComparedMatrix& matrix = program.matrices[i];
    if (matrix.layout.empty()) continue;
    arranged[matrix.layout].push_back(matrix.name);
    submission.files[i].written = std::move(matrix.written);
  }
  for (const auto& [layout, names] : arranged)
    submission.notes.push_back(fmt::format("{}: {}", layout, abbreviated_list(names)));
}

Likeness likeness_of(const ComparedMatrix& step, const ComparedMatrix& array) {
  if (may_be_last_row(array.written, step)) {
    const Tensor last = last_rows(step.tensor);
    return are_near(array.tensor.values, last.values, array.precision) ? Likeness::other_layout
                                                                       : Likeness::none;
  }
  const Shape shape = without_leading_ones(step.tensor.shape());
  const auto is_near = [&](const Tensor& tensor) {
    return are_near(tensor.values, step.tensor.values, array.precision);
  };
  if (without_leading_ones(array.tensor.shape()) == shape && is_near(array.tensor))
    return Likeness::same;
  const Shape own = without_leading_ones(array.written.shape, shape.size());
  if (array.written.cells.empty() || !head_layout(shape, own)) return {};
  ParsedArray written = array.written;
  written.shape = own;
  put_heads_first(shape, written);
  return is_near(tensor_of_written(written)) ? Likeness::other_layout : Likeness::none;
}

OptionsOfFile options_of_files(const ComparedSide& side, ReadLimit limit) {
  std::size_t largest = 0;
  for (const ComparedMatrix& matrix : side.matrices) {
    largest = std::max(largest, matrix.tensor.values.size());
  }
  const bool limited = side.is_lesson && limit != ReadLimit::none;
  return [=, index = ComparedSideIndex(side)](const std::string& own) {
    const bool is_lesson = index.side().is_lesson;
    ReadOptions wanted{.parts = is_lesson, .later = is_lesson};
    const ComparedMatrix* matrix = index.find(own);
    if (matrix != nullptr) wanted.expected = {matrix->tensor.rows(), matrix->tensor.columns()};
    if (!limited) return wanted;
    wanted.most = [&index, own, limit, largest](const std::string& name) {
      const ComparedMatrix* step = index.find(name.empty() ? own : file_stem(name).name);
      const bool by_step = step != nullptr && limit == ReadLimit::by_its_step;
      return surplus_factor * (by_step ? step->tensor.values.size() : largest);
    };
    return wanted;
  };
}

}  // namespace qkv::inline check
