#include "check/intake/submission.hpp"

#include <numeric>

#include "check/tolerance/cell_tolerance.hpp"

namespace qkv::inline check {
namespace {

/// Whether a file has an unknown name, or an array inside it.
enum class UnmatchedKind { file, array };

/// Givens and steps by display shape, without leading axes of size 1.
using NamesByShape = std::map<Shape, std::vector<std::string_view>>;

namespace fs = std::filesystem;

// Returns the numbers of `file` that `part` holds, too: all, or one matrix.
NumeralCells shared_cells(const SubmittedFile& file, const SubmittedFile& part,
                          const Tensor& tensor) {
  const NumeralCells& cells = file.written.cells;
  const std::size_t size = part.written.cells.size();
  if (file.leading == part.leading || !file.leading.empty()) return cells;
  const std::size_t start = matrix_index_of(part, tensor) * size;
  if (start + size > cells.size()) return {};
  return cells.runs(1, size, [&](std::size_t) { return start; });
}

bool share_cells(const SubmittedFile& one, const SubmittedFile& other) {
  return one.name == other.name &&
         (one.leading.empty() || other.leading.empty() || one.leading == other.leading);
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

// True for files without matrices that qkv writes.
bool is_of_qkv(const fs::path& file) {
  return file.filename() == manifest_name || file.extension() == ".html";
}

std::string with_places(std::string name, const FileStem& stem) {
  for (const auto& [axis, place] : stem.places) name += fmt::format(".{}-{}", axis, place);
  return name;
}

// Returns what a map makes of a name, or of the name before ".head-1"; nothing if none matches.
std::optional<MappedName> mapped_stem(const std::vector<NameMap>& maps, const std::string& name) {
  auto found = name.empty() ? std::nullopt : mapped_name(maps, name);
  if (found || name.empty()) return found;
  const FileStem stem = file_stem(name);
  found = mapped_name(maps, stem.name);
  if (found) found->name = with_places(std::move(found->name), stem);
  return found;
}

// Returns the matrix that a file's name stands for; "*" if it may hold any, empty if it fits none.
std::string matrix_of(const ListedFile& file, const Trace& trace, const NameOptions& names) try {
  if (!file.damage.empty() || !file.may_hold_numbers()) return {};
  if (format_of(file.path)->several) return "*";
  const std::string stem = file.path.stem().string();
  const auto found = mapped_stem(names.maps, stem);
  const auto own = step_name(found ? found->name : stem, trace, file.path.string());
  if (own) return fmt::format("{} {}", own->name, fmt::join(own->leading, " "));
  const std::string theirs = fmt::format("{}", fmt::join(steps_by_scheme(stem, trace), " "));
  return theirs.empty() ? theirs : theirs + " ";
} catch (const InputError&) {  // a step without such a head
  return "*";
}

// Reads a submission's files, and notes what fits no step of the lesson.
class SubmissionReader {
 public:
  SubmissionReader(const fs::path& path, const Trace& trace, const NameOptions& names)
      : path_(path),
        trace_(trace),
        names_(names),
        sizes_(mapped(names_in(trace), [&](auto name) { return trace.at(name).values.size(); })),
        submission_{.name = path.string()} {}

  Submission read(std::vector<ListedFile> files) {
    try {
      submission_.list = manifest_among(files);
    } catch (const InputError& error) {  // of an archive it is not needed
      if (!is_archive(path_)) throw;
      note("{}", error.what());
    }
    // Files of the current export go first, so that an older export's files do not replace them. If
    // it wrote a matrix in several formats, the first is enough.
    std::stable_partition(files.begin(), files.end(),
                          [&](const ListedFile& file) { return is_listed(file.path); });
    if (files.size() == 1 && files.front().path == path_ && !fs::exists(status_at(path_))) {
      throw InputError("{}: there is no such file or directory", path_.string());
    }
    for (const ListedFile& file : files)
      if (file.path == path_ || !is_of_qkv(file.path)) add_file(file);
    add_unmatched_files();
    note_unread_files();
    take_for_head_of_others(submission_.files, trace_, submission_.notes);
    note_nameless();
    refuse_without_numbers();
    // An export may have been filled in by hand, so a failed verification is only a note.
    const std::string doubt = verify_export(files, submission_.list);
    if (!doubt.empty()) note("{}: {}", on_one_line(path_.string()), doubt);
    return std::move(submission_);
  }

 private:
  template <class... Parts>
  void note(fmt::format_string<Parts...> text, Parts&&... parts) {
    submission_.notes.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }

  std::string example_name(UnmatchedKind kind, std::string_view step) const {
    return kind == UnmatchedKind::file ? example_file(std::string(step), trace_.at(step))
                                       : fmt::format("\"{}\"", step);
  }

  /// Adds a note that the name is unknown, with a suggestion. Those without one are noted together.
  void note_unmatched(UnmatchedKind kind, std::string_view name, const std::string& place) {
    const std::string near = suggest(name, names_in(trace_));
    if (const auto of = name_of_gradient(name, trace_)) {
      note("{} fits no step of this lesson; is it the gradient of {}? --gradients checks gradients",
           place, *of);
    } else if (!near.empty()) {
      note("{} fits no step of this lesson; did you mean {}?", place, example_name(kind, near));
    } else {
      unmatched_places_[kind].push_back(place);
    }
  }

  /// Adds one note for all that have no name near theirs: there may be thousands.
  void note_nameless() {
    constexpr std::size_t most = 3;
    for (const auto& [kind, places] : unmatched_places_) {
      const std::string_view noun = kind == UnmatchedKind::file ? "file" : "array";
      const auto first = std::span(places).first(std::min(most, places.size()));
      note("{}; {} {} is named after its step, as in {}",
           places.size() == 1
               ? fmt::format("{} fits no step of this lesson", places.front())
               : fmt::format("{} {}s fit no step of this lesson: {}{}", places.size(), noun,
                             fmt::join(first, ", "), places.size() > most ? ", …" : ""),
           kind == UnmatchedKind::file ? "a" : "an", noun,
           example_name(kind, trace_.steps.back().name));
    }
  }

  NamesByShape names_by_shape() const {
    NamesByShape names;
    for (const std::string_view name : names_in(trace_)) {
      const Shape shown = shape_as_shown(trace_.at(name), trace_.token_layout);
      names[without_leading_ones(shown)].push_back(name);
    }
    return names;
  }

  /// Returns the only step of a shape that has no file yet; empty if there is none, or several.
  std::string only_one_of(const Shape& shape, const NamesByShape& names) const {
    const auto alike = names.find(without_leading_ones(shape));
    if (alike == names.end()) return {};
    const auto found = filtered(alike->second, [&](std::string_view name) {
      return !contains(submission_.files, name, &SubmittedFile::name);
    });
    const bool is_only_step = found.size() == 1 && trace_.find_step(found.front());
    return is_only_step ? std::string(found.front()) : std::string();
  }

  // Names a matrix by its name inside the file; if the lesson does not know that name and the
  // matrix is alone, by the file's.
  std::optional<StepName> name_of(const NamedArray& matrix, const std::string& stem, bool alone,
                                  const std::string& place) const {
    if (!matrix.name.empty()) {
      const auto own = step_name(matrix.name, trace_, place);
      if (own || !alone) return own;
    }
    return step_name(stem, trace_, place);
  }

  // Returns the name of an array or file, as a map gives it if one matches. A file for one head may
  // have a name of another program.
  std::string renamed(std::string name) {
    auto found = mapped_stem(names_.maps, name);
    if (!found) {
      const FileStem stem = file_stem(name);
      const bool is_own = stem.places.empty() || step_name(stem.name, trace_, name);
      const auto ours = is_own ? std::vector<std::string>() : steps_by_scheme(stem.name, trace_);
      return ours.size() == 1 ? with_places(ours.front(), stem) : name;
    }
    const NameMap& map = names_.maps[found->map];
    if (step_name(found->name, trace_, found->name)) {
      submission_.used_maps.insert(found->map);
    } else if (map.theirs.find('*') == std::string::npos) {  // a pattern may match others, too
      throw InputError("--map {}={}: the lesson has no step \"{}\"; {}", map.theirs, map.ours,
                       map.ours, did_you_mean(map.ours, names_in(trace_)));
    }
    return std::move(found->name);
  }

  bool is_listed(const fs::path& file) const {
    return submission_.list && submission_.list->lists(file);
  }

  // If two files agree, the one with all matrices is kept; of equally many, the finer one. If they
  // don't, neither is.
  void add_matrix(SubmittedFile file) {
    if (disputed_.contains(file.name)) return;
    const Tensor& step = trace_.at(file.name);
    bool is_there = false;
    for (const SubmittedFile& other : submission_.files) {
      if (!share_cells(other, file)) continue;
      const bool is_beside = other.path.parent_path() == file.path.parent_path();
      if (is_beside && is_listed(other.path) && !is_listed(file.path)) {  // of an older export
        return note("{} does not list {}: it was not read", manifest_name, file.file);
      }
      if (!agree(other.written, shared_cells(other, file, step), file.written,
                 shared_cells(file, other, step))) {
        submission_.unreadable.push_back(
            fmt::format("{} have different numbers for {}; keep one of them",
                        other.file == file.file ? "two arrays called " + file.file
                                                : other.file + " and " + file.file,
                        file.name));
        disputed_.insert(file.name);
        std::erase_if(submission_.files,
                      [&](const SubmittedFile& one) { return one.name == file.name; });
        return;
      }
      const bool is_finer =
          other.leading == file.leading && finest_unit(file.written) < finest_unit(other.written);
      is_there =
          is_there || (!is_finer && (other.leading.empty() || other.leading == file.leading));
    }
    if (is_there) return;
    std::erase_if(submission_.files,
                  [&](const SubmittedFile& other) { return share_cells(other, file); });
    submission_.files.push_back(std::move(file));
  }

  // Rejects gigabytes by size alone, without reading them as seven by seven numbers.
  void refuse_too_large(const ListedFile& file) const {
    constexpr std::uintmax_t for_everybody = 1 << 20;
    constexpr std::uintmax_t for_a_number = 400;  // every digit of a double, with blanks
    std::error_code ignored;
    const std::uintmax_t size = file.unpack ? file.size
                                : fs::is_regular_file(status_at(file.path))
                                    ? file_size(file.path, ignored)
                                    : 0;
    if (size <= for_everybody) return;
    const std::uintmax_t numbers = std::accumulate(sizes_.begin(), sizes_.end(), std::uintmax_t{0});
    if (size <= for_everybody + for_a_number * numbers) return;
    throw InputError(
        "{}: {} MB is more than all {} numbers of the lesson can take; is it the right file?",
        file.path.string(), size / 1'000'000, numbers);
  }

  // Returns how many numbers are read of an array: as many times its step's as a wrong shape may
  // have. An array that the lesson does not know may turn out to be any step.
  NumberLimit number_limit(const std::optional<StepName>& own) const {
    return [this, stem = own ? own->name : ""](const std::string& name) {
      const Tensor* step = trace_.find(name.empty() ? stem : file_stem(name).name);
      return surplus_factor * (step ? step->values.size() : std::ranges::max(sizes_));
    };
  }

  bool is_too_large(const SubmittedFile& file, const Tensor& step) {
    const std::size_t count = file.written.cells.size();  // 0 if there were too many to be read
    if (contains(file.written.shape, 0U)) {
      submission_.unreadable.push_back(file.file + " has no numbers");
      return true;
    }
    if (count > 0 && count <= surplus_factor * step.values.size()) return false;
    submission_.unreadable.push_back(
        fmt::format("{}: {} is {}, which is more than {} times the {} of the lesson: keep the "
                    "step's own numbers",
                    file.file, file.name, shape_text(file.written.shape), surplus_factor,
                    shape_text(step.shape())));
    return true;
  }

  void take_matrix(SubmittedFile file) {
    if (is_too_large(file, trace_.at(file.name))) return;
    const bool is_of_program = !submission_.scheme.empty() && is_of_given(file.name, trace_);
    if (!is_of_program) part_stacked(file, trace_);  // a program's weight may be out × in
    arrange_file(file, trace_, submission_.notes);
    if (!file.written.remark.empty()) note("{}: {}", file.file, file.written.remark);
    add_matrix(std::move(file));
  }

  // Files whose names fit no step: a program may have one for each array, and any may match one
  // step by its shape.
  void add_unmatched_files() {
    if (unmatched_files_.empty()) return;
    std::vector<NamedArray> arrays;  // each with its file's name
    std::multimap<std::string, const ListedFile*> files;
    for (const ListedFile* file : unmatched_files_) {
      const std::string stem = file_stem(file->path.stem().string()).name;
      std::vector<NamedArray> inside;
      std::string why;
      try {
        refuse_too_large(*file);
        inside = file->read({.most = number_limit({})});
      } catch (const InputError& error) {  // not numbers, such as notes, or no bytes at all
        // A plain word may be the name of notes: drop.txt, norm.txt.
        const bool is_step =
            stem.find_first_of(".-_") != stem.npos && !steps_by_scheme(stem, trace_).empty();
        if (is_step) submission_.unreadable.emplace_back(error.what());
        if (is_step) continue;
        why = why_unreadable(*file);
      }
      if (inside.size() == 1) {
        arrays.push_back({stem, std::move(inside.front().written)});
        files.emplace(stem, file);
      } else if (!why.empty()) {
        submission_.notes.push_back(why);
      } else {
        note_unmatched(UnmatchedKind::file, stem, on_one_line(file->path.string()));
      }
    }
    adopt_names_of_program(arrays);
    const NamesByShape names = names_by_shape();
    for (NamedArray& array : arrays) {
      const auto own = files.find(array.name);
      if (own == files.end()) {
        take_matrix({.file = fmt::format("{}, {}", on_one_line(path_.string()), array.name),
                     .path = path_,
                     .name = array.name,
                     .written = std::move(array.written)});
      } else {
        add_by_shape(own->second->path, names, std::move(array.written));
        files.erase(own);
      }
    }
  }

  void add_by_shape(const fs::path& path, const NamesByShape& names, ParsedArray written) {
    const std::string place = on_one_line(path.string());
    const std::string name = only_one_of(written.shape, names);
    if (name.empty() || !submission_.scheme.empty())  // a program names its steps
      return note_unmatched(UnmatchedKind::file, path.stem().string(), place);
    written.remark = fmt::format(
        "its name fits no step; taken for {}, the only one of its shape that is not there "
        "otherwise",
        name);
    take_matrix({.file = place, .path = path, .name = name, .written = std::move(written)});
  }

  // Returns the options for reading a file whose name means a step.
  ReadOptions wanted_of(const std::optional<StepName>& own) const {
    ReadOptions wanted{.on_bad_cell = OnBadCell::kept, .most = number_limit(own)};
    if (!own) return wanted;
    const Tensor& tensor = trace_.at(own->name);
    wanted.expected = shown_size(tensor, trace_.token_layout);
    if (own->leading.empty()) wanted.stacked = std::max<std::size_t>(1, tensor.matrices());
    return wanted;
  }

  // Notes files of a kind that is not read. Those named after a step that is not there otherwise
  // are submissions of it.
  void note_unread_files() {
    for (const fs::path& path : unread_files_) {
      const std::string file = on_one_line(path.string());
      std::optional<StepName> own;
      try {
        own = step_name(file_stem(renamed(path.stem().string())).name, trace_, file);
      } catch (const InputError&) {  // a head that the step does not have
      }
      if (!own && format_of(path) != nullptr) continue;  // a document that qkv writes
      const bool is_missing = own && !contains(submission_.files, own->name, &SubmittedFile::name);
      (is_missing ? submission_.unreadable : submission_.notes)
          .push_back(fmt::format("{} was not read: qkv reads {}", file,
                                 fmt::join(readable_extensions(), " ")));
    }
  }

  void adopt_names_of_program(std::vector<NamedArray>& arrays) {
    const auto is_mapped = [](std::string_view) { return false; };
    const auto wanted = submission_.scheme.empty() ? names_.scheme : std::nullopt;
    const std::string scheme = adopt_scheme(wanted, trace_, is_mapped, arrays);
    if (!scheme.empty()) submission_.scheme = scheme;
  }

  void add_file(const ListedFile& found) {
    const std::string file = on_one_line(found.path.string());
    if (!found.path.has_filename()) return;  // an empty folder
    if (!found.damage.empty()) return submission_.unreadable.push_back(found.damage);
    if (!is_readable(found.path)) return unread_files_.push_back(found.path);
    const std::string stem = renamed(found.path.stem().string());
    bool may_be_other = false;  // settings, for example
    std::vector<NamedArray> matrices;
    try {
      const auto own = step_name(stem, trace_, file);
      if (!own && !format_of(found.path)->several) return unmatched_files_.push_back(&found);
      may_be_other = !own && found.path != submission_.name && format_of(found.path)->is_text &&
                     steps_by_scheme(file_stem(stem).name, trace_).empty();
      refuse_too_large(found);
      matrices = found.read(wanted_of(own));
    } catch (const InputError& error) {
      if (may_be_other) return note("{} was not read: {}", file, error.what());
      return submission_.unreadable.push_back(error.what());
    }
    for (NamedArray& matrix : matrices) matrix.name = renamed(std::move(matrix.name));
    const bool alone = matrices.size() == 1;
    const bool is_asked = names_.scheme && found.path == path_;
    if (!alone || is_asked || !matrices.front().name.empty()) adopt_names_of_program(matrices);
    for (NamedArray& matrix : matrices) {
      try {
        const std::string array = fmt::format("{}, {}", file, printable(matrix.name));
        const std::string& place = alone ? file : array;
        const auto name = name_of(matrix, stem, alone, place);
        if (!name) {
          if (matrix.name.empty()) return unmatched_files_.push_back(&found);
          note_unmatched(UnmatchedKind::array, matrix.name, array);
          continue;
        }
        take_matrix({.file = place,
                     .path = found.path,
                     .name = name->name,
                     .leading = name->leading,
                     .written = std::move(matrix.written)});
      } catch (const InputError& error) {  // a head that the step does not have
        submission_.unreadable.push_back(error.what());
      }
    }
  }

  void refuse_without_numbers() const {
    if (submission_.files.empty()) {
      if (!submission_.unreadable.empty()) throw InputError(submission_.unreadable.front());
      refuse_unused_maps(names_, submission_.used_maps, path_.string() + " has no");
      if (!submission_.notes.empty()) throw InputError(submission_.notes.front());
      throw InputError("{}: there is nothing to check; name each file after its step, as in {}",
                       path_.string(), example_name(UnmatchedKind::file, trace_.steps.back().name));
    }
    if (std::ranges::all_of(submission_.files, [](const SubmittedFile& file) {
          return std::ranges::all_of(file.written.cells, &Numeral::is_blank);
        })) {
      throw InputError("{}: there is no number in it, so there is nothing to check",
                       path_.string());
    }
  }

  const fs::path& path_;
  const Trace& trace_;
  const NameOptions& names_;
  const std::vector<std::size_t> sizes_;  // of all givens and steps
  Submission submission_;
  std::set<std::string> disputed_;                  // steps whose files have different numbers
  std::vector<fs::path> unread_files_;              // of kinds that qkv does not read
  std::vector<const ListedFile*> unmatched_files_;  // tried by their shapes after all others
  std::map<UnmatchedKind, std::vector<std::string>>
      unmatched_places_;  // without a name near theirs
};

}  // namespace

std::vector<SubmissionPlace> submissions_in(const fs::path& path, const Trace& trace,
                                            const NameOptions& names) {
  std::vector<ListedFile> files = list_files(path);
  std::map<fs::path, std::vector<ListedFile>> folders;
  std::map<std::string, fs::path> first;  // the folder of each matrix
  bool are_several = false;
  std::vector<fs::path> damaged;
  for (const ListedFile& file : files) {
    const fs::path folder = file.path.parent_path();
    if (!file.damage.empty()) damaged.push_back(folder);
    const std::string matrix = matrix_of(file, trace, names);
    if (matrix.empty()) continue;
    folders.try_emplace(folder);
    const bool is_again = first.try_emplace(matrix, folder).first->second != folder;
    are_several = are_several || is_again || matrix == "*";
  }
  for (const fs::path& archive : damaged) {
    if (folders.contains(archive.parent_path())) continue;  // a file of that submission
    folders.try_emplace(archive);
    are_several = true;
  }
  const fs::path own = (path / "").parent_path();
  if (!are_several || folders.size() < 2 + folders.count(own)) return {{path, std::move(files)}};
  std::set<fs::path> above;  // the folders of submissions are in these
  std::set<std::ptrdiff_t> depths;
  const auto depth = [](const fs::path& folder) {
    return std::distance(folder.begin(), folder.end());
  };
  for (const auto& [folder, inside] : folders) {
    depths.insert(depth(folder));
    for (fs::path at = folder; at != own; at = at.parent_path()) above.insert(at.parent_path());
  }
  // A folder that is as deep as a submission is one, too, even if nothing in it can be read.
  const auto is_one = [&](const fs::path& folder) {
    return folders.contains(folder) || (depths.contains(depth(folder)) && !above.contains(folder));
  };
  for (ListedFile& file : files) {
    fs::path folder = file.path.parent_path();
    while (folder != own && !is_one(folder)) folder = folder.parent_path();
    const bool is_alone = is_of_qkv(file.path) && !folders.contains(folder);
    if (is_one(folder) && !is_alone) folders[folder].push_back(std::move(file));
  }
  return mapped(folders, [](auto& one) {
    return SubmissionPlace{one.first, std::move(one.second)};
  });
}

void refuse_unused_maps(const NameOptions& names, const std::set<std::size_t>& used,
                        const std::string& what_has_none) {
  for (std::size_t m = 0; m < names.maps.size(); ++m) {
    if (used.contains(m)) continue;
    throw InputError("--map {0}={1}: {2} array or file \"{0}\" that becomes a step",
                     names.maps[m].theirs, names.maps[m].ours, what_has_none);
  }
}

Submission read_submission(const fs::path& path, const Trace& trace) {
  return read_submission(SubmissionPlace{path, list_files(path)}, trace);
}

Submission read_submission(const SubmissionPlace& place, const Trace& trace,
                           const NameOptions& names) {
  return SubmissionReader(place.path, trace, names).read(place.files);
}

}  // namespace qkv::inline check
