#include "check/intake/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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

/// A file fits nothing by its name, or an array in one by its key.
enum class UnmatchedKind { file, array };

/// The givens and steps by their shapes as they are shown, leading axes of size 1 aside.
using NamesByShape = std::map<Shape, std::vector<std::string_view>>;

/// Notes that nothing is known of that name, and what it may have meant.
void note_unmatched(UnmatchedKind kind, std::string_view name, const std::string& place,
                    const Trace& trace, Submission& submission) {
  const auto example = [&](const std::string& step) {
    return kind == UnmatchedKind::file ? example_file(step, trace.at(step))
                                       : fmt::format("\"{}\"", step);
  };
  const std::vector<std::string_view> names = names_in(trace);
  if (const auto of = name_of_gradient(name, trace)) {
    submission.notes.push_back(fmt::format(
        "{} fits no step of this lesson; is it the gradient of {}? --gradients judges it, where "
        "numbers flow from there to the loss",
        place, *of));
    return;
  }
  const std::string near = suggest(name, names);
  submission.notes.push_back(
      fmt::format("{} fits no step of this lesson; {}", place,
                  near.empty() ? fmt::format("{} is named after its step, as in {}",
                                             kind == UnmatchedKind::file ? "a file" : "an array",
                                             example(trace.steps.back().name))
                               : fmt::format("did you mean {}?", example(near))));
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

/// The only step of a shape that is not there yet; empty where there is none, or several.
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

// How far off a number may be for what its file says of it.
double fineness(const ParsedArray& written, const Numeral& cell) {
  if (written.precision == Precision::digits) return std::pow(10.0, -cell.decimals);
  return rule_of(written.precision).floor * std::max(1.0, std::abs(cell.value));
}

// The numbers of `file` that `part` speaks of, too: all of them, or its one matrix.
std::span<const Numeral> shared_cells(const SubmittedFile& file, const SubmittedFile& part,
                                      const Tensor& tensor) {
  const std::span<const Numeral> cells = file.written.cells;
  const std::size_t size = part.written.cells.size();
  if (file.leading == part.leading || !file.leading.empty()) return cells;
  const std::size_t start = matrix_index_of(part, tensor) * size;
  return start + size <= cells.size() ? cells.subspan(start, size) : std::span<const Numeral>();
}

/// Whether two files of a step hold the same numbers, as far as both speak of them and to the
/// digits that each was written with. `tensor` is the step's.
bool agree(const SubmittedFile& one, const SubmittedFile& other, const Tensor& tensor) {
  const auto a = shared_cells(one, other, tensor);
  const auto b = shared_cells(other, one, tensor);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].value;
    const double y = b[i].value;
    // The same number cut to fewer digits, not another one of as many.
    const double fine = fineness(one.written, a[i]);
    const double coarse = fineness(other.written, b[i]);
    const double tolerance = fine == coarse ? 0 : std::max(fine, coarse) / 2 * (1 + 1e-9);
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance;
    if (!same) return false;
  }
  return true;
}

namespace fs = std::filesystem;

std::array<std::size_t, 2> shown_size(const Tensor& tensor, TokenLayout token_layout) {
  std::array<std::size_t, 2> size = {tensor.rows(), tensor.columns()};
  if (is_shown_transposed(tensor, token_layout)) std::swap(size[0], size[1]);
  return size;
}

// What one matrix is called: by the file's own name for it or, where it has none that the lesson
// knows and is alone in its file, by the file's.
std::optional<StepName> name_of(const NamedArray& matrix, const fs::path& path, bool alone,
                                const Trace& trace, const std::string& place) {
  if (!matrix.name.empty()) {
    const auto own = step_name(matrix.name, trace, place);
    if (own || !alone) return own;
  }
  return step_name(path.stem().string(), trace, place);
}

// An older export's file, which lies where a newer one has written and listed its own.
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

// Of two files that agree, the one that holds all matrices is kept.
void add_matrix(SubmittedFile file, const Trace& trace, Submission& submission) {
  bool is_there = false;
  for (const SubmittedFile& other : submission.files) {
    if (!share_cells(other, file)) continue;
    if (is_stale(file, other, submission)) return;
    if (!agree(other, file, trace.at(file.name))) {
      throw InputError(fmt::format("{} and {} have different numbers for {}; keep one of them",
                                   other.file, file.file, file.name));
    }
    is_there = is_there || other.leading.empty() || other.leading == file.leading;
  }
  if (is_there) return;
  std::erase_if(submission.files,
                [&](const SubmittedFile& other) { return share_cells(other, file); });
  submission.files.push_back(std::move(file));
}

bool is_readable(const fs::path& path) {
  const std::vector<std::string_view> readable = readable_extensions();
  return std::ranges::count(readable, ascii_lowercase(path.extension().string())) > 0;
}

// No gigabyte need be read to know that it isn't seven by seven numbers.
void refuse_too_large(const ListedFile& file, const Trace& trace) {
  constexpr std::uintmax_t for_everybody = 1 << 20;
  constexpr std::uintmax_t for_a_number = 400;  // every digit of a double, and blanks around it
  std::error_code ignored;
  const std::uintmax_t size = file.bytes ? file.bytes->size()
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

// Whether a file that fits nothing by its name was named by the user, or only lies in the
// directory.
enum class Chosen { by_name, with_its_directory };

// Several matrices of a step may stand in one file, one below the other.
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

void take_matrix(SubmittedFile file, const Trace& trace, Submission& submission) {
  part_stacked(trace.at(file.name), trace.token_layout, file);
  if (!file.written.remark.empty()) {
    submission.notes.push_back(fmt::format("{}: {}", file.file, file.written.remark));
  }
  add_matrix(std::move(file), trace, submission);
}

// What fits nothing by its name may fit one step by its shape.
void add_unmatched(const ListedFile& file, const NamesByShape& names, const Trace& trace,
                   Submission& submission) {
  const std::string place = on_one_line(file.path.string());
  std::vector<NamedArray> matrices;
  try {
    refuse_too_large(file, trace);
    matrices = file.read({});
  } catch (const InputError&) {  // somebody's notes
  }
  const std::string name =
      matrices.size() == 1 ? only_one_of(matrices.front().written.shape, names, trace, submission)
                           : "";
  if (name.empty()) {
    note_unmatched(UnmatchedKind::file, file.path.stem().string(), place, trace, submission);
    return;
  }
  ParsedArray& written = matrices.front().written;
  written.remark = fmt::format(
      "its name fits no step; taken for {}, the only one of its shape that "
      "is not there otherwise",
      name);
  take_matrix({.file = place,
               .path = file.path,
               .name = name,
               .leading = {},
               .written = std::move(written)},
              trace, submission);
}

// What reading a file asks for, where its name means a step.
ReadOptions wanted_of(const std::optional<StepName>& own, const Trace& trace) {
  ReadOptions wanted{.on_bad_cell = OnBadCell::kept};
  if (!own) return wanted;
  const Tensor& tensor = trace.at(own->name);
  wanted.expected = shown_size(tensor, trace.token_layout);
  if (own->leading.empty()) wanted.stacked = std::max<std::size_t>(1, tensor.matrices());
  return wanted;
}

// Puts aside what fits nothing by its name: its shape is looked at when all others are known.
void add_file(const ListedFile& found, const Trace& trace, Chosen chosen, Submission& submission,
              std::vector<const ListedFile*>& unmatched) {
  const fs::path& path = found.path;
  const std::string file = on_one_line(path.string());
  if (!is_readable(path)) {
    submission.notes.push_back(
        fmt::format("{} was not read: qkv reads {}", file, fmt::join(readable_extensions(), " ")));
    return;
  }
  const auto own = step_name(path.stem().string(), trace, file);
  if (!own && !may_hold_several(path)) return unmatched.push_back(&found);
  std::vector<NamedArray> matrices;
  try {
    refuse_too_large(found, trace);
    matrices = found.read(wanted_of(own, trace));
  } catch (const InputError& error) {
    if (own || chosen == Chosen::by_name) throw;
    submission.notes.push_back(fmt::format("{} was not read: {}", file, error.what()));
    return;
  }
  const bool alone = matrices.size() == 1;
  for (NamedArray& matrix : matrices) {
    const std::string array = fmt::format("{}, {}", file, printable(matrix.name));
    const std::string& place = alone ? file : array;
    const auto name = name_of(matrix, path, alone, trace, place);
    if (!name) {
      if (matrix.name.empty()) return unmatched.push_back(&found);
      note_unmatched(UnmatchedKind::array, matrix.name, array, trace, submission);
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

// Files that qkv itself puts beside the matrices, and those that systems and editors hide.
bool is_beside_the_point(const ListedFile& file) {
  const std::string name = file.path.filename().string();
  const Format* format = format_of(file.path);
  const bool only_written = format != nullptr && format->read == nullptr;
  return name == manifest_name || only_written || file.path.extension() == ".html";
}

// What an export wrote into a directory goes first: an older export's files, which lie there too,
// don't take the place of it. Of the forms that it wrote a matrix in, the first is enough.
void sort_by_list(std::vector<ListedFile>& files, const Manifest& list) {
  std::stable_partition(files.begin(), files.end(), [&](const ListedFile& file) {
    return list.lists(file.path.filename().string());
  });
}

std::vector<ListedFile> found_in(const fs::path& path, Submission& submission) {
  std::error_code error;
  if (!fs::is_directory(path, error) && !is_archive(path)) return {ListedFile{.path = path}};
  std::vector<ListedFile> files = list_files(path);
  std::erase_if(files, is_beside_the_point);
  submission.list = read_manifest(path);
  if (submission.list) sort_by_list(files, *submission.list);
  return files;
}

// An export may well be filled in by hand, and is judged by what it holds: it is only told.
void note_doubt(const fs::path& path, Submission& submission) {
  const auto verification_failure = verify_export(path, submission.list, ExportEvidence::givens);
  if (!verification_failure) return;
  submission.notes.push_back(
      fmt::format("{}: {}", on_one_line(path.string()), verification_failure->says));
}

}  // namespace

Submission read_submission(const fs::path& path, const Trace& trace) {
  Submission submission{.name = path.string(), .files = {}, .notes = {}, .list = {}};
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw InputError(fmt::format("{}: there is no such file or directory", path.string()));
  }
  const std::vector<ListedFile> files = found_in(path, submission);
  const Chosen chosen = files.size() == 1 && files.front().path == path
                            ? Chosen::by_name
                            : Chosen::with_its_directory;
  std::vector<const ListedFile*> unmatched;
  for (const ListedFile& file : files) add_file(file, trace, chosen, submission, unmatched);
  const NamesByShape names = unmatched.empty() ? NamesByShape() : names_by_shape(trace);
  for (const ListedFile* file : unmatched) add_unmatched(*file, names, trace, submission);
  if (submission.files.empty()) {
    const std::string& last = trace.steps.back().name;
    throw InputError(submission.notes.empty()
                         ? fmt::format("{}: there is nothing to check; name each file after its "
                                       "step, as in {}",
                                       path.string(), example_file(last, trace.at(last)))
                         : submission.notes.front());
  }
  note_doubt(path, submission);
  return submission;
}

}  // namespace qkv::inline check
