#include "formats/files/read_file.hpp"

#include <system_error>

#include "formats/arrays/arrays.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view incomplete_export_text =
    "an incomplete export: there are files named like an export's, but no 00-lesson.json to list "
    "them; they are copies, or the export was interrupted";

constexpr ZipMessages zip_messages = {
    .kind = "zip archive",
    .make = "pack the files as .zip",
    .again = "pack the files again",
    .plainly = "pack the files as a plain .zip",
};
constexpr std::size_t max_files = 10'000;
constexpr std::string_view worksheet_page = "worksheet.html";

[[noreturn]] void refuse_many(const fs::path& place) {
  throw InputError("{}: there are more than {} files in it: name the directory of one submission",
                   printable(place.string()), max_files);
}

// Files that no person put there: ".git", "__MACOSX", "Q.csv~".
bool is_system_file(const fs::path& name) {
  const std::string text = name.string();
  return is_editor_backup(text) || text == "__MACOSX" || text == "__pycache__";
}

// True for all but a directory: the reader refuses pipes, devices and links that lead nowhere.
bool is_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  return !entry.is_directory(ignored);
}

bool has_archive_extension(const fs::path& path) {
  return ascii_lowercase(path.extension().string()) == ".zip";
}

std::vector<ListedFile> files_of_directory(const fs::path& directory, int depth) {
  std::vector<ListedFile> files;
  std::error_code error;
  std::size_t seen = 0;
  auto entry = fs::recursive_directory_iterator(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++seen > max_files && depth > 0) refuse_many(directory);
    const bool is_hidden = is_system_file(entry->path().filename());
    if (is_hidden || entry.depth() >= depth) entry.disable_recursion_pending();
    if (is_hidden) continue;
    if (is_file(*entry)) files.push_back({.path = entry->path()});
    std::error_code ignored;
    const bool is_empty = entry->is_directory(ignored) && fs::is_empty(entry->path(), ignored);
    if (is_empty) files.push_back({.path = entry->path() / ""});
  }
  if (error) throw InputError("{} can't be read: {}", directory.string(), error.message());
  return files;
}

// Adds the files of an archive, which `owner` holds; of the outer one also those of the archives in
// it. Throws InputError if all files have more bytes than are read.
void add_files_of_archive(std::string_view bytes, const std::shared_ptr<const void>& owner,
                          const fs::path& archive, bool is_outer, std::size_t& total,
                          std::vector<ListedFile>& files) {
  for (const ZipEntry& entry : zip_entries(bytes, archive.string(), zip_messages)) {
    // Some programs for Windows write "folder\file".
    fs::path inside = fs::path(replace_all(entry.name, "\\", "/")).lexically_normal();
    while (!inside.empty() && *inside.begin() == "..") inside = inside.lexically_relative("..");
    if (std::ranges::any_of(inside, is_system_file)) continue;
    if (files.size() == max_files) refuse_many(archive);
    ListedFile file{.path = archive / inside.relative_path()};
    const bool is_inner = is_outer && has_archive_extension(inside);
    if (is_readable(inside) || is_inner) {
      file.size = entry.unpacked;
      total += entry.unpacked;
      if (total > max_unpacked_bytes) {
        refuse(archive.string(), "its files have more than {} bytes, the most that is read",
               max_unpacked_bytes);
      }
      file.unpack = [owner, entry, place = archive.string()] {
        return unpacked(entry, place, zip_messages);
      };
    }
    if (!is_inner) {
      files.push_back(std::move(file));
      continue;
    }
    const std::size_t before = files.size();
    try {
      const auto inner = std::make_shared<const std::string>(file.unpack());
      add_files_of_archive(*inner, inner, file.path, false, total, files);
    } catch (const InputError& error) {
      files.resize(before);
      files.push_back({.path = file.path / inside.filename(), .damage = error.what()});
    }
  }
}

std::string_view strip_leading_number(std::string_view stem) {
  const std::size_t digits = stem.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return stem;
  return stem[digits] == '-' || stem[digits] == '_' || stem[digits] == ' ' ? stem.substr(digits + 1)
                                                                           : stem;
}

std::string_view without_digits(std::string_view text) {
  return text.substr(0, text.find_last_not_of("0123456789 ") + 1);
}

constexpr std::string_view copies[] = {"copy", "Copy", "COPY", "Kopie", "copie", "copia", "Sheet"};
constexpr std::string_view copies_of[] = {"Copy of ", "Kopie von ", "Copie de ", "Copia de "};

// "X (1)", "X (copy)", "X (copy 2)"
std::string_view without_brackets(std::string_view text) {
  const std::size_t open = text.ends_with(')') ? text.rfind('(') : 0;
  if (open == std::string_view::npos || open == 0) return text;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const bool is_copy =
      parse_number<std::size_t>(inside).has_value() || contains(copies, without_digits(inside));
  if (is_copy) text = text.substr(0, open);
  return is_copy ? text.substr(0, text.find_last_not_of(' ') + 1) : text;
}

// "X - Copy", "X copy 2"
std::string_view without_word(std::string_view text) {
  const std::string_view unnumbered = without_digits(text);
  for (const std::string_view word : copies) {
    if (!unnumbered.ends_with(word)) continue;
    const std::string_view before = unnumbered.substr(0, unnumbered.size() - word.size());
    const std::size_t end = before.find_last_not_of(" -_");
    if (end == std::string_view::npos || end + 1 == before.size()) continue;
    return before.substr(0, end + 1);
  }
  return text;
}

/// An axis, and the place on it from 1.
using Place = std::pair<std::string, std::size_t>;

/// One matrix of several in separate files.
struct Piece {
  std::vector<Place> places;
  ParsedArray written;
  std::string file;  // for messages
};

// "06-scores.csv", "given-X.npy".
bool is_named_as_exported(const ListedFile& file) {
  if (!file.may_hold_numbers()) return false;
  const std::string name = file.path.filename().string();
  if (name.starts_with("given-")) return true;
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits >= 2 && digits < name.size() && name[digits] == '-';
}

// True for files of an export, if these have no manifest, unless they are a worksheet.
bool are_exported(std::span<const ListedFile> files) {
  const auto is_page = [](const ListedFile& file) {
    return file.path.filename() == worksheet_page;
  };
  return std::ranges::any_of(files, is_named_as_exported) && std::ranges::none_of(files, is_page);
}

// True if two arrays hold the same numbers; of those too many to be read the shapes are compared.
bool agree(const ParsedArray& one, const ParsedArray& other) {
  if (one.cells.empty() || other.cells.empty()) return one.shape == other.shape;
  return agree(one, one.cells, other, other.cells);
}

/// Joins matrices with places into one array, with an axis for each kind of place. Of the same
/// matrix in several files the finest is kept. Throws InputError if their numbers differ.
class ArrayAssembler {
 public:
  void add(const FileStem& stem, std::string file, ParsedArray written) {
    Pieces& pieces = pieces_[stem.name];
    if (pieces.empty()) order_.push_back(stem.name);
    keep(stem.name, {stem.places, std::move(written), std::move(file)}, pieces);
  }

  /// Returns all arrays, ordered by their first file.
  std::vector<NamedArray> take(std::vector<std::string>& notes) {
    std::vector<NamedArray> all;
    for (const std::string& name : order_) {
      Pieces& pieces = pieces_.at(name);
      auto whole = pieces.extract(std::vector<Place>());
      std::vector<Piece> heads;
      for (auto& [places, piece] : pieces) heads.push_back(std::move(piece));
      pieces.clear();
      if (whole) pieces.insert(std::move(whole));
      if (!heads.empty()) {
        auto all_heads = join(name, heads, notes);
        if (all_heads) keep(name, {{}, *std::move(all_heads), heads.front().file}, pieces);
      }
      if (!pieces.empty()) all.push_back({name, std::move(pieces.begin()->second.written)});
    }
    return all;
  }

 private:
  using Pieces = std::map<std::vector<Place>, Piece>;

  static void keep(const std::string& name, Piece piece, Pieces& pieces) {
    const auto [found, is_new] = pieces.try_emplace(piece.places);
    Piece& same = found->second;
    if (!is_new && !agree(same.written, piece.written)) {
      throw InputError("{} and {} have different numbers for {}; keep one of them", same.file,
                       piece.file, name);
    }
    if (is_new || finest_unit(piece.written) < finest_unit(same.written)) same = std::move(piece);
  }

  static std::optional<ParsedArray> join(const std::string& name, const std::vector<Piece>& pieces,
                                         std::vector<std::string>& notes) {
    Shape leading(pieces.front().places.size(), 0);
    std::set<std::vector<std::size_t>> there;
    for (const Piece& piece : pieces) {
      const auto& first = pieces.front();
      if (!std::ranges::equal(piece.places, first.places, {}, &Place::first, &Place::first) ||
          piece.written.shape != first.written.shape) {
        notes.push_back(name + " was left out: its files differ in shape");
        return {};
      }
      std::vector<std::size_t> index = mapped(piece.places, &Place::second);
      std::ranges::transform(leading, index, leading.begin(), std::ranges::max);
      if (contains(index, 0U) || !there.insert(std::move(index)).second) {
        notes.push_back(name +
                        " was left out: its files are numbered twice, or from 0; count from 1");
        return {};
      }
    }
    const std::size_t count = element_count(leading, name);
    if (count != there.size()) {
      notes.push_back(fmt::format("{} was left out: {} of its {} matrices have a file", name,
                                  there.size(), count));
      return {};
    }
    return joined(leading, pieces);
  }

  static ParsedArray joined(const Shape& leading, const std::vector<Piece>& pieces) {
    ParsedArray result = pieces.front().written;
    const std::size_t size = result.cells.size();
    Numerals cells(size * pieces.size());
    result.shape.insert(result.shape.begin(), leading.begin(), leading.end());
    for (const Piece& piece : pieces) {
      std::size_t index = 0;
      for (std::size_t a = 0; a < leading.size(); ++a) {
        index = index * leading[a] + piece.places[a].second - 1;
      }
      std::ranges::copy(piece.written.cells,
                        cells.begin() + static_cast<std::ptrdiff_t>(index * size));
    }
    result.cells = std::move(cells);
    return result;
  }

  std::vector<std::string> order_;  ///< of the names
  std::map<std::string, Pieces> pieces_;
};

// Adds a file's matrices; in messages it is `name`.
void add_file(const ListedFile& file, const std::string& name, const OptionsOfFile& options_of,
              ArrayAssembler& collector) {
  if (!file.damage.empty()) throw InputError("{}", file.damage);
  const FileStem own = file_stem(file.path.stem().string());
  for (NamedArray& matrix : file.read(options_of(own.name))) {
    const FileStem stem = matrix.name.empty() ? own : file_stem(matrix.name);
    collector.add(stem, matrix.name.empty() ? name : name + ": " + matrix.name,
                  std::move(matrix.written));
  }
}

// Returns the arrays of a file, or of the files in a directory or an archive.
ArrayCollection arrays_of(const fs::path& place, std::vector<ListedFile> files,
                          const OptionsOfFile& options_of) {
  ArrayCollection dump;
  ArrayAssembler collector;
  const bool is_one_file = files.size() == 1 && files.front().path == place;
  const auto list = is_one_file ? std::nullopt : manifest_among(files);
  dump.whole_lesson = list.has_value();
  for (const ManifestEntry& entry : list ? list->entries : std::vector<ManifestEntry>()) {
    dump.listed.push_back(entry.name);
    dump.whole_lesson = dump.whole_lesson && !entry.files.empty();
  }
  std::ranges::sort(files, {}, [](const ListedFile& file) {
    return std::pair(sort_key(file.path.stem().string()), file.path);
  });
  for (const ListedFile& file : files) {
    const fs::path name = is_one_file ? place.filename() : file.path.lexically_relative(place);
    const bool is_exported = list && file.path.parent_path() == list->folder;
    if (!is_one_file && !file.may_hold_numbers() && file.damage.empty()) continue;
    if (is_exported && !list->lists(file.path)) {
      dump.notes.push_back(
          fmt::format("{} does not list {}: it was not read", manifest_name, name.string()));
      continue;
    }
    try {
      add_file(file, name.string(), options_of, collector);
    } catch (const InputError& why) {  // it may be notes or settings
      const bool may_be_other = file.damage.empty() && format_of(file.path)->is_text;
      if (is_one_file || is_exported || !may_be_other) throw;
      dump.unreadable_files.push_back({file_stem(file.path.stem().string()).name, why.what()});
    }
  }
  if (std::string why = verify_export(files, list); !why.empty())
    dump.notes.push_back(std::move(why));
  dump.incomplete_export = !is_one_file && !list && are_exported(files);
  if (dump.incomplete_export) dump.notes.emplace_back(incomplete_export_text);
  dump.matrices = collector.take(dump.notes);
  return dump;
}

}  // namespace

std::vector<NamedArray> ListedFile::read(const ReadOptions& wanted) const {
  return unpack ? format_of(path)->read(unpack(), path.string(), wanted)
                : read_arrays(path, wanted);
}

double finest_unit(const ParsedArray& written) {
  if (written.precision != Precision::digits) {
    const int decimals = rounded_decimals(written.cells, written.precision).value_or(0);
    const double own = rule_of(written.precision).floor;
    return decimals > 0 ? std::max(own, std::pow(10.0, -decimals)) : own;
  }
  double finest = infinity;
  for (const Numeral& cell : written.cells) {
    if (std::isfinite(cell.value)) finest = std::min(finest, std::pow(10.0, -cell.decimals));
  }
  return finest;
}

double unit_of(const ParsedArray& written, double finest, const Numeral& cell) {
  if (cell.scientific) return std::pow(10.0, -cell.decimals);
  const bool is_binary = written.precision != Precision::digits;
  return is_binary ? finest * std::max(1.0, std::abs(cell.value)) : finest;
}

bool agree(const ParsedArray& one, const NumeralCells& cells, const ParsedArray& other,
           const NumeralCells& other_cells) {
  const double finest[] = {finest_unit(one), finest_unit(other)};
  return std::ranges::equal(cells, other_cells, [&](const Numeral& a, const Numeral& b) {
    // A number may be a rounding of one with more digits, but not differ at equal digits.
    const double unit = std::max(unit_of(one, finest[0], a), unit_of(other, finest[1], b));
    return a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)) ||
           std::abs(a.value - b.value) <= unit / 2 * (1 + 1e-9);
  });
}

bool is_archive(const fs::path& path) {
  return has_archive_extension(path) && !fs::is_directory(status_at(path));
}

std::vector<ListedFile> list_files(const fs::path& place, int depth) {
  std::vector<ListedFile> files;
  if (is_archive(place)) {
    const auto mapped = std::make_shared<const MappedFile>(place);
    std::size_t total = 0;
    add_files_of_archive(mapped->bytes(), mapped, place, true, total, files);
    std::set<fs::path> filled;
    for (const ListedFile& file : files)
      if (file.path.has_filename()) filled.insert(file.path.parent_path());
    std::erase_if(files, [&](const ListedFile& file) {  // an archive may list any folder
      return !file.path.has_filename() && filled.contains(file.path.parent_path());
    });
    if (depth == 0)
      std::erase_if(files, [&](const auto& file) { return file.path.parent_path() != place; });
  } else if (!fs::is_directory(status_at(place))) {
    files.push_back({.path = place});
  } else {
    for (ListedFile& file : files_of_directory(place, depth)) {
      std::vector<ListedFile> inside;
      try {
        if (depth > 0 && is_archive(file.path)) inside = list_files(file.path);
      } catch (const InputError& why) {
        file.path /= file.path.filename();
        file.damage = why.what();
      }
      if (inside.empty()) inside.push_back(std::move(file));
      std::ranges::move(inside, std::back_inserter(files));
    }
  }
  std::ranges::sort(files, {}, &ListedFile::path);
  return files;
}

std::string_view strip_copy_suffix(std::string_view text) {
  // Google's Drive writes "Copy of X", and its Sheets "X - Sheet1".
  for (const std::string_view start : copies_of) {
    if (text.starts_with(start)) return strip_copy_suffix(text.substr(start.size()));
  }
  for (std::string_view last;; text = last) {
    last = without_word(without_brackets(text));
    if (last == text) return text;
  }
}

FileStem file_stem(std::string_view text) {
  FileStem stem;
  text = strip_copy_suffix(text);
  while (true) {  // places come last
    const std::size_t dot = text.rfind('.');
    const std::size_t dash = text.rfind('-');
    if (dot == std::string_view::npos || dash == std::string_view::npos || dash < dot) break;
    const auto number = parse_number<std::size_t>(text.substr(dash + 1));
    if (!number) break;
    stem.places.emplace_back(text.substr(dot + 1, dash - dot - 1), *number);
    text = text.substr(0, dot);
  }
  std::ranges::reverse(stem.places);
  text = strip_leading_number(text);
  if (text.starts_with("given-")) text.remove_prefix(6);
  stem.name = text;
  return stem;
}

bool is_editor_backup(std::string_view name) {
  return name.starts_with('.') || name.starts_with('#') || name.ends_with('~');
}

ArrayCollection load_arrays(const fs::path& path, const OptionsOfFile& options_of) {
  ArrayCollection dump = arrays_of(path, list_files(path, 0), options_of);
  if (dump.matrices.empty()) dump = arrays_of(path, list_files(path), options_of);
  if (dump.matrices.empty() && !dump.unreadable_files.empty())
    throw InputError(dump.unreadable_files.front().why);
  if (dump.matrices.empty()) {
    throw InputError(
        "{}: there are no matrices in it; name each file after its step, as in scores.npy, and "
        "save it as one of {}",
        path.string(), fmt::join(readable_extensions(), " "));
  }
  return dump;
}

}  // namespace qkv::inline formats
