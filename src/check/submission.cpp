#include "check/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>

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

constexpr Numeral blank{std::numeric_limits<double>::quiet_NaN(), 0, false};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<std::string_view> names_in(const Trace& trace) {
  std::vector<std::string_view> names;
  for (const Given& given : trace.givens) names.push_back(given.name);
  for (const Step& step : trace.steps) names.push_back(step.name);
  return names;
}

// The lesson's name for it: the same, or the only one that differs in capitals alone.
std::optional<std::string> name_in_lesson(const std::string& name, const Trace& trace) {
  if (trace.find(name)) return name;
  std::optional<std::string> found;
  for (const std::string_view known : names_in(trace)) {
    if (lower(known) != lower(name)) continue;
    if (found) return {};
    found = std::string(known);
  }
  return found;
}

std::vector<std::size_t> leading_places(const FileStem& stem, const Tensor& tensor,
                                        const std::string& file) {
  std::vector<std::size_t> places;
  if (stem.places.empty()) return places;
  if (stem.places.size() != tensor.leading_axes()) {
    throw InputError(fmt::format("{}: {} is {}, so its files are named {}", file, stem.name,
                                 tensor.leading_axes() == 0 ? "one matrix" : "several matrices",
                                 tensor.leading_axes() == 0 ? stem.name + ".csv"
                                 : tensor.leading_axes() == 1
                                     ? stem.name + ".head-1.csv and so on"
                                     : stem.name + ".batch-1.head-1.csv and so on"));
  }
  for (std::size_t a = 0; a < stem.places.size(); ++a) {
    const auto& [axis, number] = stem.places[a];
    const std::size_t size = tensor.axes[a].size;
    if (number < 1 || number > size) {
      throw InputError(fmt::format("{}: there is no {} {}; {} has 1 to {}", file, axis, number,
                                   stem.name, size));
    }
    places.push_back(number - 1);
  }
  return places;
}

std::array<std::size_t, 2> shown_size(const Tensor& tensor, Convention convention) {
  std::array<std::size_t, 2> size = {tensor.rows(), tensor.columns()};
  if (is_turned(tensor, convention)) std::swap(size[0], size[1]);
  return size;
}

// What one matrix is called: by the file's own name for it or, where it has none that the lesson
// knows and is alone in its file, by the file's.
FileStem stem_of(const NamedWritten& matrix, const fs::path& path, bool alone, const Trace& trace) {
  if (!matrix.name.empty()) {
    const FileStem own = file_stem(matrix.name);
    if (!alone || name_in_lesson(own.name, trace)) return own;
  }
  return file_stem(path.stem().string());
}

// Whether a matrix that the submission has already came in another form from the same export.
bool is_other_form(const HandedFile& one, const std::string& file, const Submission& submission) {
  const auto own = [](const std::string& place) { return place.substr(0, place.find(", ")); };
  return submission.list && submission.list->lists(own(one.file)) &&
         submission.list->lists(own(file));
}

void add_matrix(NamedWritten matrix, const FileStem& stem, const std::string& file,
                const Trace& trace, Submission& submission) {
  const auto name = name_in_lesson(stem.name, trace);
  if (!name) {
    const std::string near = nearest(stem.name, names_in(trace));
    submission.notes.push_back(fmt::format(
        "{} fits no step of this lesson; {}", file,
        near.empty() ? "a file is named after its step" : fmt::format("did you mean {}?", near)));
    return;
  }
  const std::vector<std::size_t> leading = leading_places(stem, trace.at(*name), file);
  for (const HandedFile& other : submission.files) {
    const bool same = other.leading.empty() || leading.empty() || other.leading == leading;
    if (other.name != *name || !same) continue;
    if (is_other_form(other, file, submission)) return;
    submission.notes.push_back(fmt::format("{} was not read: {} has {} already; keep one of them",
                                           file, other.file, *name));
    return;
  }
  submission.files.push_back(
      {.file = file, .name = *name, .leading = leading, .written = std::move(matrix.written)});
}

bool is_readable(const fs::path& path) {
  const std::vector<std::string_view> readable = readable_extensions();
  const std::string extension = lower(path.extension().string());
  return std::find(readable.begin(), readable.end(), extension) != readable.end();
}

// Whether a file that fits nothing by its name was named by the user, or only lies in the
// directory.
enum class Chosen { by_name, with_its_directory };

void add_file(const fs::path& path, const Trace& trace, Chosen chosen, Submission& submission) {
  const std::string file = path.filename().string();
  if (!is_readable(path)) {
    submission.notes.push_back(
        fmt::format("{} was not read: qkv reads {}", file, fmt::join(readable_extensions(), " ")));
    return;
  }
  const FileStem own = file_stem(path.stem().string());
  const auto name = name_in_lesson(own.name, trace);
  if (!name && !may_hold_several(path)) {  // nobody needs to read what fits nothing
    add_matrix({}, own, file, trace, submission);
    return;
  }
  std::optional<std::array<std::size_t, 2>> expected;
  if (name) expected = shown_size(trace.at(*name), trace.convention);
  std::vector<NamedWritten> matrices;
  try {
    matrices = read_all_written(path, {.expected = expected});
  } catch (const InputError& error) {
    if (name || chosen == Chosen::by_name) throw;
    submission.notes.push_back(fmt::format("{} was not read: {}", file, error.what()));
    return;
  }
  const bool alone = matrices.size() == 1;
  for (NamedWritten& matrix : matrices) {
    const FileStem stem = stem_of(matrix, path, alone, trace);
    const std::string place = alone ? file : fmt::format("{}, {}", file, printable(matrix.name));
    add_matrix(std::move(matrix), stem, place, trace, submission);
  }
}

// Files that qkv itself puts beside the matrices, and those the system hides.
bool is_beside_the_point(const fs::path& path) {
  const std::string name = path.filename().string();
  const Format* format = format_of(path);
  const bool only_written = format != nullptr && format->read == nullptr;
  return name.starts_with('.') || name == manifest_name || only_written ||
         path.extension() == ".html";
}

// What an export wrote into a directory goes first: an older export's files, which lie there too,
// don't take the place of it. Of the forms that it wrote a matrix in, the first is enough.
void sort_by_list(std::vector<fs::path>& files, const Manifest& list) {
  std::stable_partition(files.begin(), files.end(),
                        [&](const fs::path& file) { return list.lists(file.filename().string()); });
}

Shape without_leading_ones(Shape shape, std::size_t rank) {
  while (shape.size() > std::max<std::size_t>(1, rank) && shape.front() == 1) {
    shape.erase(shape.begin());
  }
  return shape;
}

std::vector<Numeral> turned_cells(const Shape& shape, const std::vector<Numeral>& cells) {
  const std::size_t rows = shape[shape.size() - 2];
  const std::size_t columns = shape.back();
  std::vector<Numeral> result(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t start = i - i % (rows * columns);
    const std::size_t r = i % (rows * columns) / columns;
    result[start + i % columns * rows + r] = cells[i];
  }
  return result;
}

// A written matrix turned inside, so that a token is a row.
void turn_inside(Shape& shape, std::vector<Numeral>& cells) {
  if (shape.size() < 2) return;
  cells = turned_cells(shape, cells);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
}

// One row or one column that holds as many numbers as the wanted one row or column.
bool is_one_line(const Shape& shape, const Shape& wanted) {
  const auto length = [](const Shape& s) {
    std::size_t count = 1;
    for (const std::size_t size : s) count *= size;
    return count;
  };
  const auto is_line = [&](const Shape& s) {
    return std::find(s.begin(), s.end(), length(s)) != s.end();
  };
  return length(shape) == length(wanted) && is_line(shape) && is_line(wanted);
}

struct Piece {
  Shape shape;
  std::vector<Numeral> cells;
  bool may_lie = true;  ///< one line may be a row or a column
};

Piece inside_piece(const HandedFile& file, const Tensor& tensor, Convention convention,
                   Turned turned) {
  Piece piece{.shape = without_leading_ones(file.written.shape, tensor.rank()),
              .cells = file.written.cells};
  // Where tokens are said to be columns, a column of tokens is no row of them.
  piece.may_lie = turned == Turned::no || piece.shape.size() < 2;
  if (piece.shape.size() < 2 && tensor.rank() >= 2) piece.shape.insert(piece.shape.begin(), 1);
  if (is_turned(tensor, convention) != (turned == Turned::yes && tensor.rank() >= 2)) {
    turn_inside(piece.shape, piece.cells);
  }
  return piece;
}

// Which matrix of the tensor a file of its own holds.
std::size_t index_of(const HandedFile& file, const Tensor& tensor) {
  std::size_t index = 0;
  for (std::size_t a = 0; a < file.leading.size(); ++a) {
    index = index * tensor.axes[a].size + file.leading[a];
  }
  return index;
}

// A step that came in one file.
void take_whole(Piece piece, const Tensor& tensor, Handed& handed) {
  handed.fits =
      piece.shape == tensor.shape() || (piece.may_lie && is_one_line(piece.shape, tensor.shape()));
  handed.shape = handed.fits ? tensor.shape() : std::move(piece.shape);
  handed.cells = std::move(piece.cells);
}

// A step that came in a file for each matrix, the missing ones blank. Matrices of a wrong size that
// all have the same one keep their places; else the first wrong one stands for them all.
void take_pieces(const std::vector<Piece>& pieces, const std::vector<std::size_t>& places,
                 const Tensor& tensor, Handed& handed) {
  const Shape right = {tensor.rows(), tensor.columns()};
  const auto fits = [&](const Piece& piece) {
    return piece.shape == right || (piece.may_lie && is_one_line(piece.shape, right));
  };
  const auto misfit = std::find_if_not(pieces.begin(), pieces.end(), fits);
  handed.fits = misfit == pieces.end();
  const Shape matrix = handed.fits ? right : misfit->shape;
  const auto alike = [&](const Piece& piece) { return handed.fits || piece.shape == matrix; };
  if (!std::all_of(pieces.begin(), pieces.end(), alike)) {
    handed.shape = misfit->shape;
    handed.cells = misfit->cells;
    return;
  }
  handed.shape = tensor.shape();
  handed.shape.resize(tensor.leading_axes());
  handed.shape.insert(handed.shape.end(), matrix.begin(), matrix.end());
  const std::size_t size = pieces.front().cells.size();
  handed.cells.assign(tensor.matrices() * size, blank);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    std::copy(pieces[k].cells.begin(), pieces[k].cells.end(),
              handed.cells.begin() + static_cast<std::ptrdiff_t>(places[k] * size));
  }
}

Handed put_together(const std::string& name, const Submission& submission, const Trace& trace,
                    Turned turned) {
  const Tensor& tensor = trace.at(name);
  Handed handed{.name = name, .files = {}, .shape = {}, .cells = {}};
  std::vector<Piece> pieces;
  std::vector<std::size_t> places;
  for (const HandedFile& file : submission.files) {
    if (file.name != name) continue;
    handed.files.push_back(file.file);
    handed.precision = file.written.precision;
    Piece piece = inside_piece(file, tensor, trace.convention, turned);
    if (file.leading.empty()) {
      take_whole(std::move(piece), tensor, handed);
      return handed;
    }
    pieces.push_back(std::move(piece));
    places.push_back(index_of(file, tensor));
  }
  take_pieces(pieces, places, tensor, handed);
  return handed;
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
    throw InputError(fmt::format(
        "{}: {}", path.string(),
        submission.notes.empty()
            ? "there is nothing to check; name each file after its step, as in scores.csv"
            : submission.notes.front()));
  }
  return submission;
}

std::vector<Handed> arrange(const Submission& submission, const Trace& trace, Turned turned) {
  std::vector<Handed> all;
  for (const std::string_view name : names_in(trace)) {
    const bool is_there = std::any_of(submission.files.begin(), submission.files.end(),
                                      [&](const HandedFile& file) { return file.name == name; });
    if (is_there) all.push_back(put_together(std::string(name), submission, trace, turned));
  }
  return all;
}

}  // namespace qkv
