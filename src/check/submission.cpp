#include "check/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <system_error>

#include "check/arrange.hpp"
#include "check/precision.hpp"
#include "check/step_name.hpp"
#include "formats/file_stem.hpp"
#include "formats/format.hpp"
#include "formats/manifest.hpp"
#include "formats/numeral.hpp"
#include "formats/read_file.hpp"
#include "tensor/error.hpp"
#include "tensor/nearest.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::array<std::size_t, 2> shown_size(const Tensor& tensor, Convention convention) {
  std::array<std::size_t, 2> size = {tensor.rows(), tensor.columns()};
  if (is_turned(tensor, convention)) std::swap(size[0], size[1]);
  return size;
}

// What one matrix is called: by the file's own name for it or, where it has none that the lesson
// knows and is alone in its file, by the file's.
std::optional<StepName> name_of(const NamedWritten& matrix, const fs::path& path, bool alone,
                                const Trace& trace, const std::string& place) {
  if (!matrix.name.empty()) {
    const auto own = step_name(matrix.name, trace, place);
    if (own || !alone) return own;
  }
  return step_name(path.stem().string(), trace, place);
}

// An older export's file, which lies where a newer one has written and listed its own.
bool is_stale(const HandedFile& file, const HandedFile& other, const Submission& submission) {
  const auto listed = [&](const HandedFile& one) {
    return submission.list->lists(one.path.filename().string());
  };
  return submission.list && listed(other) && !listed(file);
}

// How far off a number may be for what its file says of it.
double fineness(const Written& written, const Numeral& cell) {
  if (written.precision == Precision::digits) return std::pow(10.0, -cell.decimals);
  return rule_of(written.precision).floor * std::max(1.0, std::abs(cell.value));
}

// The numbers of `file` that `part` speaks of, too: all of them, or its one matrix.
std::span<const Numeral> shared_cells(const HandedFile& file, const HandedFile& part,
                                      const Tensor& tensor) {
  const std::span<const Numeral> cells = file.written.cells;
  const std::size_t size = part.written.cells.size();
  if (file.leading == part.leading || !file.leading.empty()) return cells;
  const std::size_t start = index_of(part, tensor) * size;
  return start + size <= cells.size() ? cells.subspan(start, size) : std::span<const Numeral>();
}

bool agree(const HandedFile& one, const HandedFile& other, const Tensor& tensor) {
  const auto a = shared_cells(one, other, tensor);
  const auto b = shared_cells(other, one, tensor);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].value;
    const double y = b[i].value;
    const double reach = std::max(fineness(one.written, a[i]), fineness(other.written, b[i]));
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= reach;
    if (!same) return false;
  }
  return true;
}

// A file fits nothing by its name, or an array in one by its key.
enum class Stranger { file, array };

void refuse_stranger(Stranger kind, std::string_view name, const std::string& place,
                     const Trace& trace, Submission& submission) {
  const auto example = [&](const std::string& step) {
    return kind == Stranger::file ? example_file(step, trace.at(step))
                                  : fmt::format("\"{}\"", step);
  };
  const std::vector<std::string_view> names = names_in(trace);
  const std::string near = nearest(name, names);
  submission.notes.push_back(
      fmt::format("{} fits no step of this lesson; {}", place,
                  near.empty() ? fmt::format("{} is named after its step, as in {}",
                                             kind == Stranger::file ? "a file" : "an array",
                                             example(trace.steps.back().name))
                               : fmt::format("did you mean {}?", example(near))));
}

bool share_cells(const HandedFile& one, const HandedFile& other) {
  return one.name == other.name &&
         (one.leading.empty() || other.leading.empty() || one.leading == other.leading);
}

// Of two files that agree, the one that holds all matrices is kept.
void add_matrix(HandedFile file, const Trace& trace, Submission& submission) {
  bool is_there = false;
  for (const HandedFile& other : submission.files) {
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
                [&](const HandedFile& other) { return share_cells(other, file); });
  submission.files.push_back(std::move(file));
}

// A program that writes nan where it has gone wrong should not look like one that hasn't begun.
void tell_blanks(const HandedFile& file, Submission& submission) {
  if (file.written.precision == Precision::digits) return;
  const std::vector<Numeral>& cells = file.written.cells;
  const auto blanks =
      std::ranges::count_if(cells, [](const Numeral& cell) { return std::isnan(cell.value); });
  if (blanks == 0) return;
  submission.notes.push_back(fmt::format("{}: {} of its {} numbers {} nan: blank, not wrong",
                                         file.file, blanks, cells.size(),
                                         blanks == 1 ? "is" : "are"));
}

bool is_readable(const fs::path& path) {
  const std::vector<std::string_view> readable = readable_extensions();
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(readable.begin(), readable.end(), extension) != readable.end();
}

// Nobody needs to read a gigabyte to know that it isn't seven by seven numbers.
void refuse_too_large(const fs::path& path, const Trace& trace) {
  constexpr std::uintmax_t for_everybody = 1 << 20;
  constexpr std::uintmax_t for_a_number = 400;  // every digit of a double, and blanks around it
  std::uintmax_t numbers = 0;
  for (const std::string_view name : names_in(trace)) numbers += trace.at(name).values.size();
  std::error_code ignored;
  const std::uintmax_t size = fs::is_regular_file(path, ignored) ? fs::file_size(path, ignored) : 0;
  if (size <= for_everybody + for_a_number * numbers) return;
  throw InputError(fmt::format(
      "{}: {} MB is more than all {} numbers of the lesson can take; is it the right file?",
      path.string(), size / 1'000'000, numbers));
}

// Whether a file that fits nothing by its name was named by the user, or only lies in the
// directory.
enum class Chosen { by_name, with_its_directory };

void add_file(const fs::path& path, const Trace& trace, Chosen chosen, Submission& submission) {
  const std::string file = on_one_line(path.string());
  if (!is_readable(path)) {
    submission.notes.push_back(
        fmt::format("{} was not read: qkv reads {}", file, fmt::join(readable_extensions(), " ")));
    return;
  }
  const auto own = step_name(path.stem().string(), trace, file);
  if (!own && !may_hold_several(path)) {  // nobody needs to read what fits nothing
    refuse_stranger(Stranger::file, path.stem().string(), file, trace, submission);
    return;
  }
  std::optional<std::array<std::size_t, 2>> expected;
  if (own) expected = shown_size(trace.at(own->name), trace.convention);
  std::vector<NamedWritten> matrices;
  try {
    refuse_too_large(path, trace);
    matrices = read_all_written(path, {.expected = expected});
  } catch (const InputError& error) {
    if (own || chosen == Chosen::by_name) throw;
    submission.notes.push_back(fmt::format("{} was not read: {}", file, error.what()));
    return;
  }
  const bool alone = matrices.size() == 1;
  for (NamedWritten& matrix : matrices) {
    const std::string array = fmt::format("{}, {}", file, printable(matrix.name));
    const std::string& place = alone ? file : array;
    const auto name = name_of(matrix, path, alone, trace, place);
    if (!name) {
      if (matrix.name.empty()) {
        refuse_stranger(Stranger::file, path.stem().string(), place, trace, submission);
      } else {
        refuse_stranger(Stranger::array, matrix.name, array, trace, submission);
      }
      continue;
    }
    add_matrix({.file = place,
                .path = path,
                .name = name->name,
                .leading = name->leading,
                .written = std::move(matrix.written)},
               trace, submission);
  }
}

// Files that qkv itself puts beside the matrices, and those that systems and editors hide.
bool is_beside_the_point(const fs::path& path) {
  const std::string name = path.filename().string();
  const Format* format = format_of(path);
  const bool only_written = format != nullptr && format->read == nullptr;
  return is_kept_by_editors(name) || name == manifest_name || only_written ||
         path.extension() == ".html";
}

// What an export wrote into a directory goes first: an older export's files, which lie there too,
// don't take the place of it. Of the forms that it wrote a matrix in, the first is enough.
void sort_by_list(std::vector<fs::path>& files, const Manifest& list) {
  std::stable_partition(files.begin(), files.end(),
                        [&](const fs::path& file) { return list.lists(file.filename().string()); });
}

}  // namespace

Submission read_submission(const fs::path& path, const Trace& trace) {
  Submission submission{.name = path.string(), .files = {}, .notes = {}, .list = {}};
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw InputError(fmt::format("{}: there is no such file or directory", path.string()));
  }
  if (!fs::is_directory(path, error)) {
    add_file(path, trace, Chosen::by_name, submission);
  } else {
    std::vector<fs::path> files;
    auto entry = fs::directory_iterator(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code ignored;  // a link that leads nowhere is no file
      if (!is_beside_the_point(entry->path()) && entry->is_regular_file(ignored)) {
        files.push_back(entry->path());
      }
    }
    if (error) {
      throw InputError(fmt::format("{} can't be read: {}", path.string(), error.message()));
    }
    std::sort(files.begin(), files.end());
    submission.list = read_manifest(path);
    if (submission.list) sort_by_list(files, *submission.list);
    for (const fs::path& file : files) {
      add_file(file, trace, Chosen::with_its_directory, submission);
    }
  }
  if (submission.files.empty()) {
    const std::string& last = trace.steps.back().name;
    throw InputError(submission.notes.empty()
                         ? fmt::format("{}: there is nothing to check; name each file after its "
                                       "step, as in {}",
                                       path.string(), example_file(last, trace.at(last)))
                         : submission.notes.front());
  }
  for (const HandedFile& file : submission.files) tell_blanks(file, submission);
  return submission;
}

}  // namespace qkv
