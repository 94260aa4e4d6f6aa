#include "check/intake/submission.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "check/intake/layout.hpp"
#include "check/intake/step_names.hpp"
#include "check/tolerance/precision.hpp"
#include "formats/files/find_files.hpp"
#include "formats/files/read_file.hpp"
#include "formats/format.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/suggest.hpp"
#include "text/unicode.hpp"
#include "trace/labels.hpp"

namespace qkv::inline check {
namespace {

/// Whether a file has an unknown name, or an array inside it.
enum class UnmatchedKind { file, array };

/// Givens and steps by display shape, without leading axes of size 1.
using NamesByShape = std::map<Shape, std::vector<std::string_view>>;

/// What fits no step of the lesson.
struct Unmatched {
  std::vector<const ListedFile*> files = {};  ///< tried by their shapes after all others are known
  std::map<UnmatchedKind, std::vector<std::string>> places = {};  ///< without a name near theirs
};

std::string example_name(UnmatchedKind kind, std::string_view step, const Trace& trace) {
  return kind == UnmatchedKind::file ? example_file(std::string(step), trace.at(step))
                                     : fmt::format("\"{}\"", step);
}

/// Adds a note that the name is unknown, with a suggestion. Those without one are noted together.
void note_unmatched(UnmatchedKind kind, std::string_view name, const std::string& place,
                    const Trace& trace, Unmatched& unmatched, Submission& submission) {
  const std::string near = suggest(name, names_in(trace));
  if (const auto of = name_of_gradient(name, trace)) {
    submission.notes.push_back(fmt::format(
        "{} fits no step of this lesson; is it the gradient of {}? --gradients checks gradients",
        place, *of));
  } else if (!near.empty()) {
    submission.notes.push_back(fmt::format("{} fits no step of this lesson; did you mean {}?",
                                           place, example_name(kind, near, trace)));
  } else {
    unmatched.places[kind].push_back(place);
  }
}

/// Adds one note for all that have no name near theirs: there may be thousands.
void note_nameless(const Unmatched& unmatched, const Trace& trace, Submission& submission) {
  constexpr std::size_t most = 3;
  for (const auto& [kind, places] : unmatched.places) {
    const std::string_view noun = kind == UnmatchedKind::file ? "file" : "array";
    const auto first = std::span(places).first(std::min(most, places.size()));
    submission.notes.push_back(fmt::format(
        "{}; {} {} is named after its step, as in {}",
        places.size() == 1
            ? fmt::format("{} fits no step of this lesson", places.front())
            : fmt::format("{} {}s fit no step of this lesson: {}{}", places.size(), noun,
                          fmt::join(first, ", "), places.size() > most ? ", …" : ""),
        kind == UnmatchedKind::file ? "a" : "an", noun,
        example_name(kind, trace.steps.back().name, trace)));
  }
}

NamesByShape names_by_shape(const Trace& trace) {
  NamesByShape names;
  for (const std::string_view name : names_in(trace)) {
    const Tensor& tensor = trace.at(name);
    Shape shown = tensor.shape();
    if (is_shown_transposed(tensor, trace.token_layout))
      std::swap(shown.back(), shown[shown.size() - 2]);
    names[without_leading_ones(shown)].push_back(name);
  }
  return names;
}

/// Returns the only step of a shape that has no file yet; empty if there is none, or several.
std::string only_one_of(const Shape& shape, const NamesByShape& names, const Trace& trace,
                        const Submission& submission) {
  const auto alike = names.find(without_leading_ones(shape));
  if (alike == names.end()) return {};
  std::string_view found;
  for (const std::string_view name : alike->second) {
    const bool is_there = std::ranges::any_of(
        submission.files, [&](const SubmittedFile& file) { return file.name == name; });
    if (is_there) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return trace.find_step(found) ? std::string(found) : std::string();
}

// Returns the numbers of `file` that `part` holds, too: all, or one matrix.
std::span<const Numeral> shared_cells(const SubmittedFile& file, const SubmittedFile& part,
                                      const Tensor& tensor) {
  const std::span<const Numeral> cells = file.written.cells;
  const std::size_t size = part.written.cells.size();
  if (file.leading == part.leading || !file.leading.empty()) return cells;
  const std::size_t start = matrix_index_of(part, tensor) * size;
  return start + size <= cells.size() ? cells.subspan(start, size) : std::span<const Numeral>();
}

// True if two files of a step agree in their common cells.
bool agree(const SubmittedFile& one, const SubmittedFile& other, const Tensor& tensor) {
  return agree(one.written, shared_cells(one, other, tensor), other.written,
               shared_cells(other, one, tensor));
}

namespace fs = std::filesystem;

std::array<std::size_t, 2> shown_size(const Tensor& tensor, TokenLayout token_layout) {
  std::array<std::size_t, 2> size = {tensor.rows(), tensor.columns()};
  if (is_shown_transposed(tensor, token_layout)) std::swap(size[0], size[1]);
  return size;
}

// Names a matrix by its name inside the file; if the lesson does not know that name and the matrix
// is alone, by the file's.
std::optional<StepName> name_of(const NamedArray& matrix, const std::string& stem, bool alone,
                                const Trace& trace, const std::string& place) {
  if (!matrix.name.empty()) {
    const auto own = step_name(matrix.name, trace, place);
    if (own || !alone) return own;
  }
  return step_name(stem, trace, place);
}

// Returns what a map makes of a name, or of the name before ".head-1"; nothing if none matches.
std::optional<MappedName> mapped_stem(const std::vector<NameMap>& maps, const std::string& name) {
  auto found = name.empty() ? std::nullopt : mapped(maps, name);
  if (found || name.empty()) return found;
  const FileStem stem = file_stem(name);
  found = mapped(maps, stem.name);
  for (const auto& [axis, place] : found ? stem.places : decltype(stem.places)())
    found->name += fmt::format(".{}-{}", axis, place);
  return found;
}

// Returns the name of an array or file, as a map gives it if one matches.
std::string renamed(std::string name, const NameOptions& names, const Trace& trace,
                    Submission& submission) {
  auto found = mapped_stem(names.maps, name);
  if (!found) return name;
  const NameMap& map = names.maps[found->map];
  if (step_name(found->name, trace, found->name)) {
    submission.used_maps.insert(found->map);
  } else if (map.theirs.find('*') == std::string::npos) {  // a pattern may match others, too
    throw InputError(fmt::format("--map {}={}: the lesson has no step \"{}\"; {}", map.theirs,
                                 map.ours, map.ours, did_you_mean(map.ours, names_in(trace))));
  }
  return std::move(found->name);
}

// True for an older export's file beside a newer export, whose manifest lists only the other.
bool is_stale(const SubmittedFile& file, const SubmittedFile& other, const Submission& submission) {
  const auto listed = [&](const SubmittedFile& one) {
    return submission.list->lists(one.path.filename().string());
  };
  return submission.list && listed(other) && !listed(file);
}

bool share_cells(const SubmittedFile& one, const SubmittedFile& other) {
  return one.name == other.name &&
         (one.leading.empty() || other.leading.empty() || one.leading == other.leading);
}

// If two files agree, the one with all matrices is kept; of equally many, the finer one.
void add_matrix(SubmittedFile file, const Trace& trace, Submission& submission) {
  bool is_there = false;
  for (const SubmittedFile& other : submission.files) {
    if (!share_cells(other, file)) continue;
    if (is_stale(file, other, submission)) {
      submission.notes.push_back(
          fmt::format("{} does not list {}: it was not read", manifest_name, file.file));
      return;
    }
    if (!agree(other, file, trace.at(file.name))) {
      throw InputError(fmt::format("{} and {} have different numbers for {}; keep one of them",
                                   other.file, file.file, file.name));
    }
    const bool is_finer =
        other.leading == file.leading && finest_unit(file.written) < finest_unit(other.written);
    is_there = is_there || (!is_finer && (other.leading.empty() || other.leading == file.leading));
  }
  if (is_there) return;
  std::erase_if(submission.files,
                [&](const SubmittedFile& other) { return share_cells(other, file); });
  submission.files.push_back(std::move(file));
}

// Rejects gigabytes by size alone, without reading them as seven by seven numbers.
void refuse_too_large(const ListedFile& file, const Trace& trace) {
  constexpr std::uintmax_t for_everybody = 1 << 20;
  constexpr std::uintmax_t for_a_number = 400;  // every digit of a double, with blanks
  std::error_code ignored;
  const std::uintmax_t size = file.unpack ? file.size
                              : fs::is_regular_file(file.path, ignored)
                                  ? file_size(file.path, ignored)
                                  : 0;
  if (size <= for_everybody) return;
  std::uintmax_t numbers = 0;
  for (const std::string_view name : names_in(trace)) numbers += trace.at(name).values.size();
  if (size <= for_everybody + for_a_number * numbers) return;
  throw InputError(fmt::format(
      "{}: {} MB is more than all {} numbers of the lesson can take; is it the right file?",
      file.path.string(), size / 1'000'000, numbers));
}

// Returns how many numbers are read of an array: as many times its step's as a wrong shape may
// have. An array that the lesson does not know may turn out to be any step.
NumberLimit number_limit(const std::optional<StepName>& own, const Trace& trace) {
  std::size_t largest = 0;
  for (const Given& given : trace.givens) largest = std::max(largest, given.tensor.values.size());
  for (const Step& step : trace.steps) largest = std::max(largest, step.output.values.size());
  return [&trace, largest, stem = own ? own->name : ""](const std::string& name) {
    const Tensor* step = trace.find(name.empty() ? stem : file_stem(name).name);
    return surplus_factor * (step ? step->values.size() : largest);
  };
}

bool is_too_large(const SubmittedFile& file, const Tensor& step, Submission& submission) {
  const std::size_t count = file.written.cells.size();  // 0 if there were too many to be read
  if (count > 0 && count <= surplus_factor * step.values.size()) return false;
  submission.unreadable.push_back(fmt::format(
      "{}: {} is {}, which is more than {} times the {} of the lesson: keep the step's own numbers",
      file.file, file.name, shape_text(file.written.shape), surplus_factor,
      shape_text(step.shape())));
  return true;
}

// A file may hold several matrices of a step, one below the other.
void part_stacked(const Tensor& tensor, TokenLayout token_layout, SubmittedFile& file) {
  ParsedArray& written = file.written;
  const auto [rows, columns] = shown_size(tensor, token_layout);
  const std::size_t count = tensor.matrices();
  if (count < 2 || !file.leading.empty() || written.shape != Shape{count * rows, columns}) return;
  written.shape = tensor.shape();
  written.shape.resize(tensor.leading_axes());
  written.shape.insert(written.shape.end(), {rows, columns});
  written.row_labels.clear();
  written.remark =
      fmt::format("taken for all {} matrices of {}, one below the other", count, file.name);
}

// Makes a question mark or a dash, which stands for a number to come, a blank.
void clear_placeholders(ParsedArray& written) {
  constexpr std::string_view placeholders[] = {"?", "-", "–", "—", "−"};
  for (Numeral& cell : written.cells) {
    if (cell.bad_text == 0) continue;
    const std::string_view text = written.bad_texts[cell.bad_text - 1U];
    if (std::ranges::find(placeholders, text) == std::end(placeholders)) continue;
    cell.bad_text = 0;
    cell.left_out = text != "?";
  }
}

// Returns where each of the step's labels stands in the file; empty unless the file has them all.
// Equal labels keep their order.
std::vector<std::size_t> places_of(const std::vector<std::string>& wanted,
                                   const std::vector<std::string>& written) {
  if (wanted.size() != written.size()) return {};
  std::multimap<std::string_view, std::size_t> left;
  for (std::size_t k = 0; k < written.size(); ++k) left.emplace(written[k], k);
  std::vector<std::size_t> places;
  for (const std::string& label : wanted) {
    const auto first = left.lower_bound(label);
    if (first == left.end() || first->first != label) return {};
    places.push_back(first->second);
    left.erase(first);
  }
  return places;
}

// Puts the rows, or the columns, in the order of the step's labels, and reports labels that the
// step does not have. A transposed matrix has the labels of `other`.
void sort_by_labels(SubmittedFile& file, std::string_view line, const std::vector<std::string>& own,
                    const std::vector<std::string>& other, Submission& submission) {
  const bool are_rows = line == "row";
  auto& written = are_rows ? file.written.row_labels : file.written.column_labels;
  std::vector<std::size_t> places = places_of(own, written);
  if (places.empty()) places = places_of(other, written);
  std::set<std::string_view> known(own.begin(), own.end());
  known.insert(other.begin(), other.end());
  std::vector<std::string> unknown;
  for (const std::string& label : written) {
    const bool is_known = label.empty() || !places.empty() || known.contains(label);
    if (!is_known) unknown.push_back(printable(label));
  }
  if (!unknown.empty()) {
    submission.notes.push_back(fmt::format("{}: {} of this lesson has no {} {}", file.file,
                                           file.name, line, abbreviated_list(unknown)));
  }
  if (std::ranges::is_sorted(places)) return;
  const Numerals cells = file.written.cells;
  const std::size_t columns = file.written.shape[1];
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t row = i / columns;
    const std::size_t column = i % columns;
    file.written.cells[i] =
        are_rows ? cells[places[row] * columns + column] : cells[row * columns + places[column]];
  }
  submission.notes.push_back(fmt::format(
      "{}: its {}s are in another order than the lesson's; they were put in order by their labels",
      file.file, line));
  written.clear();
}

void sort_by_labels(SubmittedFile& file, const Trace& trace, Submission& submission) {
  if (file.written.shape.size() != 2) return;
  const Tensor& tensor = trace.at(file.name);
  const std::size_t index = matrix_index_of(file, tensor);
  const MatrixLabels own = own_labels(tensor, index, trace.token_layout);
  const MatrixLabels full = full_labels(tensor, index, trace.token_layout);
  // Headings over a line that the lesson does not name are the learner's own.
  if (!own.rows.empty()) sort_by_labels(file, "row", full.rows, full.columns, submission);
  if (!own.columns.empty()) sort_by_labels(file, "column", full.columns, full.rows, submission);
}

// Returns how badly a file of one head's size fits a head, from 0 to 1 a cell on average, in cells
// where heads differ; 1 if there are none.
double misfit(const ParsedArray& written, std::span<const double> all, std::size_t head) {
  const std::size_t size = written.cells.size();
  const double finest = finest_unit(written);
  double apart = 0;
  double misfit = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double truth = all[head * size + i];
    bool tells = false;
    for (std::size_t k = i; k < all.size(); k += size) tells = tells || all[k] != truth;
    const Numeral& cell = written.cells[i];
    if (!tells || cell.is_blank()) continue;
    apart += 1;
    if (cell.value == truth) continue;
    misfit += std::min(1.0, std::abs(cell.value - truth) / (2 * unit_of(written, finest, cell)));
  }
  return apart > 0 ? misfit / apart : 1;
}

// If a file for all heads has the size of one, each head is tried.
void find_head(SubmittedFile& file, const Trace& trace, Submission& submission) {
  const Tensor& tensor = trace.at(file.name);
  const auto [rows, columns] = shown_size(tensor, trace.token_layout);
  const bool is_one = without_leading_ones(file.written.shape, 2) == Shape{rows, columns};
  if (tensor.matrices() < 2 || !file.leading.empty() || !is_one) return;
  const Tensor shown =
      is_shown_transposed(tensor, trace.token_layout) ? transposed(tensor) : tensor;
  std::vector<double> misfits;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    misfits.push_back(misfit(file.written, shown.values, m));
  }
  const auto best = std::ranges::min_element(misfits);
  if (*best > 0.5) return;
  const auto head = static_cast<std::size_t>(best - misfits.begin());
  file.leading = leading_index(tensor, head);
  file.written.shape = {rows, columns};
  submission.notes.push_back(fmt::format("{}: it has the size of one matrix; taken for {} of {}",
                                         file.file, matrix_name(tensor, head), file.name));
}

void take_matrix(SubmittedFile file, const Trace& trace, Submission& submission) {
  if (is_too_large(file, trace.at(file.name), submission)) return;
  clear_placeholders(file.written);
  part_stacked(trace.at(file.name), trace.token_layout, file);
  find_head(file, trace, submission);
  sort_by_labels(file, trace, submission);
  if (!file.written.remark.empty()) {
    submission.notes.push_back(fmt::format("{}: {}", file.file, file.written.remark));
  }
  add_matrix(std::move(file), trace, submission);
}

// Returns why the bytes of a file cannot be read; empty if they can.
std::string why_unreadable(const ListedFile& file) {
  try {
    if (!file.unpack) const MappedFile mapped(file.path);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

// A file with an unknown name may still match one step by its shape.
void add_unmatched(const ListedFile& file, const NamesByShape& names, const Trace& trace,
                   Unmatched& unmatched, Submission& submission) {
  const std::string place = on_one_line(file.path.string());
  std::vector<NamedArray> matrices;
  try {
    refuse_too_large(file, trace);
    matrices = file.read({.most = number_limit({}, trace)});
  } catch (const InputError&) {  // not numbers, such as notes, or no bytes at all
    const std::string why = why_unreadable(file);
    if (!why.empty()) return submission.notes.push_back(why);
  }
  const std::string name =
      matrices.size() == 1 ? only_one_of(matrices.front().written.shape, names, trace, submission)
                           : "";
  if (name.empty()) {
    return note_unmatched(UnmatchedKind::file, file.path.stem().string(), place, trace, unmatched,
                          submission);
  }
  ParsedArray& written = matrices.front().written;
  written.remark = fmt::format(
      "its name fits no step; taken for {}, the only one of its shape that is not there otherwise",
      name);
  take_matrix({.file = place, .path = file.path, .name = name, .written = std::move(written)},
              trace, submission);
}

// Returns the options for reading a file whose name means a step.
ReadOptions wanted_of(const std::optional<StepName>& own, const Trace& trace) {
  ReadOptions wanted{.on_bad_cell = OnBadCell::kept, .most = number_limit(own, trace)};
  if (!own) return wanted;
  const Tensor& tensor = trace.at(own->name);
  wanted.expected = shown_size(tensor, trace.token_layout);
  if (own->leading.empty()) wanted.stacked = std::max<std::size_t>(1, tensor.matrices());
  return wanted;
}

void add_file(const ListedFile& found, const Trace& trace, const NameOptions& names,
              Submission& submission, Unmatched& unmatched) {
  const fs::path& path = found.path;
  const std::string file = on_one_line(path.string());
  if (!is_readable(path)) {
    submission.notes.push_back(
        fmt::format("{} was not read: qkv reads {}", file, fmt::join(readable_extensions(), " ")));
    return;
  }
  const std::string stem = renamed(path.stem().string(), names, trace, submission);
  const auto own = step_name(stem, trace, file);
  if (!own && !may_hold_several(path)) return unmatched.files.push_back(&found);
  std::vector<NamedArray> matrices;
  try {
    refuse_too_large(found, trace);
    matrices = found.read(wanted_of(own, trace));
  } catch (const InputError& error) {
    if (own || path == submission.name || !format_of(path)->is_text)
      return submission.unreadable.push_back(error.what());
    submission.notes.push_back(fmt::format("{} was not read: {}", file, error.what()));
    return;
  }
  for (NamedArray& matrix : matrices)
    matrix.name = renamed(std::move(matrix.name), names, trace, submission);
  const bool alone = matrices.size() == 1;
  if (!alone || names.scheme) {
    const auto is_mapped = [](std::string_view) { return false; };
    const std::string scheme = adopt_scheme(names.scheme, trace, is_mapped, matrices);
    if (!scheme.empty()) submission.scheme = scheme;
  }
  for (NamedArray& matrix : matrices) {
    const std::string array = fmt::format("{}, {}", file, printable(matrix.name));
    const std::string& place = alone ? file : array;
    const auto name = name_of(matrix, stem, alone, trace, place);
    if (!name) {
      if (matrix.name.empty()) return unmatched.files.push_back(&found);
      note_unmatched(UnmatchedKind::array, matrix.name, array, trace, unmatched, submission);
      continue;
    }
    take_matrix({.file = place,
                 .path = path,
                 .name = name->name,
                 .leading = name->leading,
                 .written = std::move(matrix.written)},
                trace, submission);
  }
}

// True for qkv's own files without matrices, and for hidden files of systems and editors.
bool is_beside_the_point(const ListedFile& file) {
  const std::string name = file.path.filename().string();
  const Format* format = format_of(file.path);
  const bool only_written = format != nullptr && format->read == nullptr;
  return name == manifest_name || only_written || file.path.extension() == ".html";
}

// Files of the current export go first, so that an older export's files do not replace them. If it
// wrote a matrix in several formats, the first is enough.
void sort_by_list(std::vector<ListedFile>& files, const Manifest& list) {
  std::stable_partition(files.begin(), files.end(), [&](const ListedFile& file) {
    return list.lists(file.path.filename().string());
  });
}

std::vector<ListedFile> files_in(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) && !is_archive(path)) return {ListedFile{.path = path}};
  std::vector<ListedFile> files = list_files(path);
  std::erase_if(files, is_beside_the_point);
  return files;
}

// Returns the matrix that a file's name stands for; "*" if it may hold any, empty if it fits none.
std::string matrix_of(const ListedFile& file, const Trace& trace, const NameOptions& names) try {
  if (!is_readable(file.path)) return {};
  if (may_hold_several(file.path)) return "*";
  const std::string stem = file.path.stem().string();
  const auto found = mapped_stem(names.maps, stem);
  const auto own = step_name(found ? found->name : stem, trace, file.path.string());
  return own ? fmt::format("{} {}", own->name, fmt::join(own->leading, " ")) : "";
} catch (const InputError&) {  // a step without such a head
  return "*";
}

// An export may have been filled in by hand, so a failed verification is only a note.
void note_doubt(const fs::path& path, Submission& submission) {
  const auto verification_failure = verify_export(path, submission.list, ExportEvidence::givens);
  if (!verification_failure) return;
  submission.notes.push_back(
      fmt::format("{}: {}", on_one_line(path.string()), verification_failure->text));
}

}  // namespace

std::vector<SubmissionPlace> submissions_in(const fs::path& path, const Trace& trace,
                                            const NameOptions& names) {
  std::vector<ListedFile> files = files_in(path);
  std::map<fs::path, std::vector<ListedFile>> folders;
  std::map<std::string, fs::path> first;  // the folder of each matrix
  bool are_several = false;
  for (const ListedFile& file : files) {
    const std::string matrix = matrix_of(file, trace, names);
    const fs::path folder = file.path.parent_path();
    if (matrix.empty()) continue;
    folders.try_emplace(folder);
    const bool is_again = first.try_emplace(matrix, folder).first->second != folder;
    are_several = are_several || is_again || matrix == "*";
  }
  const fs::path own = (path / "").parent_path();
  if (!are_several || folders.size() < 2 + folders.count(own)) return {{path, std::move(files)}};
  std::vector<SubmissionPlace> places;
  for (ListedFile& file : files) {
    fs::path folder = file.path.parent_path();
    while (folder != own && !folders.contains(folder)) folder = folder.parent_path();
    if (folders.contains(folder)) folders.at(folder).push_back(std::move(file));
  }
  for (auto& [folder, inside] : folders) places.push_back({folder, std::move(inside)});
  return places;
}

void refuse_unused_maps(const NameOptions& names, const std::set<std::size_t>& used,
                        const std::string& what_has_none) {
  for (std::size_t m = 0; m < names.maps.size(); ++m) {
    if (used.contains(m)) continue;
    throw InputError(fmt::format("--map {0}={1}: {2} array or file \"{0}\" that becomes a step",
                                 names.maps[m].theirs, names.maps[m].ours, what_has_none));
  }
}

Submission read_submission(const fs::path& path, const Trace& trace) {
  return read_submission(SubmissionPlace{path, files_in(path)}, trace);
}

Submission read_submission(const SubmissionPlace& place, const Trace& trace,
                           const NameOptions& names) {
  const fs::path& path = place.path;
  Submission submission{.name = path.string(), .list = read_manifest(path)};
  std::vector<ListedFile> files = place.files;
  if (submission.list) sort_by_list(files, *submission.list);
  std::error_code error;
  if (files.size() == 1 && files.front().path == path && !fs::exists(path, error)) {
    throw InputError(fmt::format("{}: there is no such file or directory", path.string()));
  }
  Unmatched unmatched;
  for (const ListedFile& file : files) add_file(file, trace, names, submission, unmatched);
  const NamesByShape shapes = unmatched.files.empty() ? NamesByShape() : names_by_shape(trace);
  for (const ListedFile* file : unmatched.files) {
    add_unmatched(*file, shapes, trace, unmatched, submission);
  }
  note_nameless(unmatched, trace, submission);
  if (submission.files.empty()) {
    if (!submission.unreadable.empty()) throw InputError(submission.unreadable.front());
    refuse_unused_maps(names, submission.used_maps, path.string() + " has no");
    const std::string& last = trace.steps.back().name;
    throw InputError(submission.notes.empty()
                         ? fmt::format("{}: there is nothing to check; name each file after its "
                                       "step, as in {}",
                                       path.string(), example_file(last, trace.at(last)))
                         : submission.notes.front());
  }
  const auto is_attempted = [](const Numeral& cell) { return !cell.is_blank(); };
  if (std::ranges::none_of(submission.files, [&](const SubmittedFile& file) {
        return std::ranges::any_of(file.written.cells, is_attempted);
      })) {
    throw InputError(
        fmt::format("{}: there is no number in it, so there is nothing to check", path.string()));
  }
  note_doubt(path, submission);
  return submission;
}

}  // namespace qkv::inline check
