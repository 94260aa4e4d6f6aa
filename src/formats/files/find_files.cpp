#include "formats/files/find_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "formats/files/file_stem.hpp"
#include "formats/files/manifest.hpp"
#include "formats/files/proof.hpp"
#include "formats/files/read_file.hpp"
#include "formats/format.hpp"
#include "tensor/tensor.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

/// One matrix of several that stand in files of their own.
struct Piece {
  std::vector<std::string> axes;    ///< "batch", "head"
  std::vector<std::size_t> places;  ///< from 1
  Written written;
};

bool is_readable(const fs::path& path) {
  const Format* format = format_of(path);
  return format != nullptr && format->read != nullptr;
}

/// The files of a directory that hold numbers, in the order of their names: those on the export's
/// list, or all where there is none.
std::vector<fs::path> files_in(const fs::path& directory, const std::optional<Manifest>& list) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool numbers = is_readable(entry->path()) && entry->is_regular_file(ignored) &&
                         !is_kept_by_editors(name) && name != manifest_name;
    if (numbers && (!list || list->lists(name))) files.push_back(entry->path());
  }
  if (error) {
    throw InputError(fmt::format("{} can't be read: {}", directory.string(), error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Puts matrices with places into one array with an axis for each kind of place.
class Collector {
 public:
  bool has(const std::string& name) const { return names_.contains(name); }

  void add(const FileStem& stem, Written written) {
    if (has(stem.name)) return;  // the same matrix in another form
    if (stem.places.empty()) {
      if (pieces_.contains(stem.name)) return;
      names_.insert(stem.name);
      whole_.push_back({stem.name, std::move(written)});
      return;
    }
    if (!pieces_.contains(stem.name)) order_.emplace_back(stem.name, whole_.size());
    Piece piece{.axes = {}, .places = {}, .written = std::move(written)};
    for (const auto& [axis, place] : stem.places) {
      piece.axes.push_back(axis);
      piece.places.push_back(place);
    }
    pieces_[stem.name].push_back(std::move(piece));
  }

  /// All of them in the order in which their first file came.
  std::vector<NamedWritten> take(std::vector<std::string>& notes) {
    for (std::size_t k = order_.size(); k-- > 0;) {
      const auto& [name, place] = order_[k];
      if (auto joined = join(name, pieces_[name], notes)) {
        whole_.insert(whole_.begin() + static_cast<std::ptrdiff_t>(place),
                      {name, *std::move(joined)});
      }
    }
    return std::move(whole_);
  }

 private:
  static std::optional<Written> join(const std::string& name, const std::vector<Piece>& pieces,
                                     std::vector<std::string>& notes) {
    Shape leading(pieces.front().places.size(), 0);
    std::set<std::vector<std::size_t>> there;
    for (const Piece& piece : pieces) {
      if (piece.axes != pieces.front().axes ||
          piece.written.shape != pieces.front().written.shape) {
        notes.push_back(name + " was left out: its files differ in shape");
        return {};
      }
      for (std::size_t a = 0; a < leading.size(); ++a) {
        leading[a] = std::max(leading[a], piece.places[a]);
      }
      if (!there.insert(piece.places).second ||
          piece.places.end() != std::find(piece.places.begin(), piece.places.end(), 0)) {
        notes.push_back(name +
                        " was left out: its files are numbered twice, or from 0; count from 1");
        return {};
      }
    }
    const std::size_t count = count_of(leading, name);
    if (count != there.size()) {
      notes.push_back(fmt::format("{} was left out: {} of its {} matrices have a file", name,
                                  there.size(), count));
      return {};
    }
    return joined(leading, pieces);
  }

  static Written joined(const Shape& leading, const std::vector<Piece>& pieces) {
    Written result = pieces.front().written;
    const std::size_t size = result.cells.size();
    result.shape.insert(result.shape.begin(), leading.begin(), leading.end());
    result.cells.resize(size * pieces.size());
    for (const Piece& piece : pieces) {
      std::size_t index = 0;
      for (std::size_t a = 0; a < leading.size(); ++a) {
        index = index * leading[a] + piece.places[a] - 1;
      }
      std::copy(piece.written.cells.begin(), piece.written.cells.end(),
                result.cells.begin() + static_cast<std::ptrdiff_t>(index * size));
    }
    return result;
  }

  std::vector<NamedWritten> whole_;
  std::map<std::string, std::vector<Piece>> pieces_;
  std::set<std::string> names_;                             ///< of those that are whole
  std::vector<std::pair<std::string, std::size_t>> order_;  ///< names of pieces, and where they go
};

void add_file(const fs::path& path, const ExpectedSize& expected, Collector& collector) {
  const FileStem own = file_stem(path.stem().string());
  if (!may_hold_several(path) && collector.has(own.name)) return;
  for (NamedWritten& matrix : read_all_written(path, {.expected = expected(own.name)})) {
    const FileStem stem = matrix.name.empty() ? own : file_stem(matrix.name);
    collector.add(stem, std::move(matrix.written));
  }
}

/// A directory's own file: where it may be notes or settings, it is put aside.
void add_file_of(const fs::path& path, const ExpectedSize& expected, bool is_listed,
                 Collector& collector, Dump& dump) {
  try {
    add_file(path, expected, collector);
  } catch (const InputError& error) {
    if (is_listed || !format_of(path)->is_text) throw;
    dump.unread.push_back({file_stem(path.stem().string()).name, error.what()});
  }
}

/// The names of an export's list, and whether it left nothing out.
void take_list(const Manifest& list, Dump& dump) {
  dump.whole_lesson = true;
  for (const ManifestEntry& entry : list.entries) {
    dump.listed.push_back(entry.name);
    dump.whole_lesson = dump.whole_lesson && !entry.files.empty();
  }
}

}  // namespace

Dump read_dump(const fs::path& path, const ExpectedSize& expected) {
  Dump dump;
  Collector collector;
  std::error_code error;
  std::optional<Manifest> list;
  if (!fs::is_directory(path, error)) {
    add_file(path, expected, collector);
  } else {
    list = read_manifest(path);
    if (list) take_list(*list, dump);
    for (const fs::path& file : files_in(path, list)) {
      add_file_of(file, expected, list.has_value(), collector, dump);
    }
  }
  if (auto doubt = doubt_of(path, list, ExportSign::any_file)) {
    dump.half_export = doubt->half_export;
    dump.notes.push_back(std::move(doubt->says));
  }
  dump.matrices = collector.take(dump.notes);
  if (dump.matrices.empty() && !dump.unread.empty()) throw InputError(dump.unread.front().why);
  if (dump.matrices.empty()) {
    throw InputError(
        fmt::format("{}: there are no matrices in it; name each file after its step, "
                    "as in scores.npy, and save it as one of {}",
                    path.string(), fmt::join(readable_extensions(), " ")));
  }
  return dump;
}

}  // namespace qkv
