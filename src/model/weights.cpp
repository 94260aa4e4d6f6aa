#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>

#include "formats/handwork/numeral.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"
#include "text/error.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

// "transformer.h.12.attn" has "12": another layer's tensor is no slip of the pen.
std::string digits_of(std::string_view name) {
  std::string digits;
  std::ranges::copy_if(name, std::back_inserter(digits),
                       [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

std::string nearest_tensor(const std::string& name,
                           const std::map<std::string_view, const SafetensorsEntry*>& all) {
  std::vector<std::string_view> names;
  for (const auto& [known, ignored] : all) {
    if (digits_of(known) == digits_of(name)) names.push_back(known);
  }
  return nearest(name, names);
}

// Reads lines of a tensor in its file.
struct LineReader {
  std::shared_ptr<const MappedFile> file;  // kept while it is read; none: built in
  std::string_view bytes;
  const Dtype* dtype;
  Strides strides;

  void operator()(std::size_t line, std::span<double> cells) const {
    dtype->load(bytes.data() + strides.place(line) * dtype->size, strides.cell_step * dtype->size,
                ByteOrder::little, cells);
  }
};

// Where the first number stands that is no weight training has found; the count of all where none
// is.
std::size_t first_broken(std::string_view bytes, const Dtype& dtype) {
  constexpr std::size_t at_a_time = std::size_t{1} << 16;
  const std::size_t count = bytes.size() / dtype.size;
  std::atomic<std::size_t> first = count;
  in_blocks(count, at_a_time, 2, [&](std::size_t begin, std::size_t end) {
    const auto room = std::make_unique_for_overwrite<double[]>(end - begin);
    const std::span<double> numbers{room.get(), end - begin};
    dtype.load(bytes.data() + begin * dtype.size, dtype.size, ByteOrder::little, numbers);
    if (all_finite(numbers)) return;
    const auto broken =
        std::ranges::find_if(numbers, [](double value) { return !std::isfinite(value); });
    const std::size_t place = begin + static_cast<std::size_t>(broken - numbers.begin());
    std::size_t known = first;
    while (place < known && !first.compare_exchange_weak(known, place)) {
    }
  });
  return first;
}

// The same piece by piece of a large tensor, of which no more than a piece is in memory at a time.
std::size_t first_broken(const SafetensorsEntry& entry, const Dtype& dtype,
                         const MappedFile* file) {
  constexpr std::size_t piece = std::size_t{1} << 24;  // bytes: whole numbers
  for (std::size_t begin = 0; begin < entry.data.size(); begin += piece) {
    const std::string_view bytes = entry.data.substr(begin, piece);
    const std::size_t place = first_broken(bytes, dtype);
    if (place < bytes.size() / dtype.size) return begin / dtype.size + place;
    if (file && entry.data.size() > piece) file->forget(bytes);
  }
  return entry.data.size() / dtype.size;
}

// Of several files each has the tensors that the index lists, and no other's.
void refuse_unlisted(const SafetensorsEntry& entry, const std::filesystem::path& path,
                     const std::string& where, const std::map<std::string, std::string>& listed) {
  if (listed.empty()) return;
  const auto found = listed.find(entry.name);
  if (found != listed.end() && found->second == path.filename().string()) return;
  throw InputError(fmt::format(
      "{}: {} is in it, and the index {}; fetch the model again", where, printable(entry.name),
      found == listed.end() ? "does not list that tensor"
                            : "says it is in " + printable(found->second)));
}

}  // namespace

Weights::Weights(const ModelFiles& files, std::string where) : where_(std::move(where)) {
  const bool is_one = files.weights.size() == 1 && files.listed.empty();
  for (const std::filesystem::path& path : files.weights) {
    const std::string name = is_one ? where_ : printable(path.string());
    files_.push_back(std::make_shared<const MappedFile>(path));
    SafetensorsIndex index = safetensors_index(files_.back()->bytes(), name);
    for (SafetensorsEntry& entry : index.tensors) {
      refuse_unlisted(entry, path, name, files.listed);
      tensors_.push_back(std::move(entry));
    }
    metadata_.merge(index.metadata);
    ends_.push_back(tensors_.size());
  }
  list_names();
  for (const auto& [tensor, file] : files.listed) {
    if (by_name_.contains(tensor)) continue;
    throw InputError(
        fmt::format("{}: the index says that {} is in {}, and it is not there; fetch "
                    "the model again",
                    where_, printable(tensor), printable(file)));
  }
}

Weights::Weights(std::string_view bytes, std::string where) : where_(std::move(where)) {
  SafetensorsIndex index = safetensors_index(bytes, where_);
  tensors_ = std::move(index.tensors);
  metadata_ = std::move(index.metadata);
  list_names();
}

void Weights::list_names() {
  for (const SafetensorsEntry& entry : tensors_) by_name_[entry.name] = &entry;
}

const std::shared_ptr<const MappedFile>& Weights::file_of(const SafetensorsEntry& entry) const {
  static const std::shared_ptr<const MappedFile> built_in;
  const auto place = static_cast<std::size_t>(&entry - tensors_.data());
  const auto file = std::ranges::upper_bound(ends_, place) - ends_.begin();
  return files_.empty() ? built_in : files_[static_cast<std::size_t>(file)];
}

const SafetensorsEntry* Weights::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const SafetensorsEntry& Weights::checked(const std::string& name, const Shape& shape) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) {
    const std::string near = nearest_tensor(name, by_name_);
    throw InputError(fmt::format(
        "{}: there is no tensor {}, which must be {}{}", where_, name, shape_text(shape),
        near.empty() ? "" : fmt::format("; is it \"{}\"?", printable(near))));
  }
  if (entry->shape != shape) {
    throw InputError(
        fmt::format("{}: {} must be {}, and is {}", where_, name, shape_text(shape),
                    entry->shape.empty() ? "a single number" : shape_text(entry->shape)));
  }
  constexpr std::string_view floats[] = {"F64", "F32", "F16", "BF16"};
  if (std::ranges::find(floats, entry->dtype) == std::end(floats)) {
    throw InputError(fmt::format(
        "{}: {} is stored as {}; weights are read as F64, F32, F16 or BF16, so write the model out "
        "unquantised",
        where_, name, printable(entry->dtype)));
  }
  return *entry;
}

void Weights::refuse_broken(const SafetensorsEntry& entry, const Dtype& dtype) const {
  if (!looked_through_.insert(&entry).second) return;
  const std::size_t place = first_broken(entry, dtype, file_of(entry).get());
  if (place == entry.data.size() / dtype.size) return;
  double value = 0;
  dtype.load(entry.data.data() + place * dtype.size, dtype.size, ByteOrder::little, {&value, 1});
  const std::size_t width = entry.shape.back();
  const std::string cell = entry.shape.size() == 2
                               ? fmt::format("{}, {}", place / width, place % width)
                               : std::to_string(place);
  throw InputError(fmt::format("{}: {} holds {} at [{}]; the file is damaged, or training failed",
                               where_, entry.name, std::isnan(value) ? "NaN" : "an infinity",
                               cell));
}

Values Weights::values(const std::string& name, const Shape& shape) const {
  const std::size_t width = shape.back();
  const std::size_t lines = shape.size() == 1 ? 1 : shape.front();
  return values(name, shape, {.lines = lines, .width = width, .line_step = width});
}

Values Weights::values(const std::string& name, const Shape& shape, const Strides& strides) const {
  const SafetensorsEntry& entry = checked(name, shape);
  const Dtype& dtype = safetensor_dtype(entry, where_);
  refuse_broken(entry, dtype);
  const LineReader reader{file_of(entry), entry.data, &dtype, strides};
  if (strides.count() > teaching_numbers) {
    return Values::recomputed(strides.count(), strides.width, reader);
  }
  Values values = Values::unwritten(strides.count());
  const std::span<double> cells = values.write();
  for (std::size_t line = 0; line < strides.matrices * strides.lines; ++line) {
    reader(line, cells.subspan(line * strides.width, strides.width));
  }
  return values;
}

}  // namespace qkv
