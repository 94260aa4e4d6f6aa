#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "formats/numeral.hpp"
#include "tensor/error.hpp"
#include "tensor/nearest.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

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
  std::shared_ptr<const MappedFile> file;  // is there as long as somebody reads; none: built in
  std::string_view bytes;
  const Dtype* dtype;
  Strides strides;

  void operator()(std::size_t line, std::span<double> cells) const {
    dtype->load(bytes.data() + strides.place(line) * dtype->size, strides.cell_step * dtype->size,
                ByteOrder::little, cells);
  }
};

[[noreturn]] void refuse_broken(double value, std::size_t place, const SafetensorsEntry& entry,
                                const std::string& where) {
  const std::size_t width = entry.shape.back();
  const std::string cell = entry.shape.size() == 2
                               ? fmt::format("{}, {}", place / width, place % width)
                               : std::to_string(place);
  throw InputError(fmt::format("{}: {} holds {} at [{}]; the file is damaged, or training failed",
                               where, entry.name, std::isnan(value) ? "NaN" : "an infinity", cell));
}

// The first of these lines with something that is no weight training has found; else `end`.
std::size_t broken_line(const LineReader& reader, std::size_t begin, std::size_t end,
                        std::span<double> room) {
  for (std::size_t line = begin; line < end; ++line) {
    reader(line, room);
    if (!all_finite(room)) return line;
  }
  return end;
}

void refuse_broken(const LineReader& reader, const SafetensorsEntry& entry,
                   const std::string& where) {
  const Strides& strides = reader.strides;
  constexpr std::size_t at_a_time = 256;
  in_blocks(strides.matrices * strides.lines, at_a_time, strides.width,
            [&](std::size_t begin, std::size_t end) {
              std::vector<double> room(strides.width);
              const std::size_t line = broken_line(reader, begin, end, room);
              if (line == end) return;
              const auto broken =
                  std::ranges::find_if(room, [](double value) { return !std::isfinite(value); });
              const auto cell = static_cast<std::size_t>(broken - room.begin());
              refuse_broken(*broken, strides.place(line) + cell * strides.cell_step, entry, where);
            });
}

}  // namespace

Weights::Weights(const std::filesystem::path& path, std::string where)
    : where_(std::move(where)),
      file_(std::make_shared<const MappedFile>(path)),
      index_(safetensors_index(file_->bytes(), where_)) {
  list_names();
}

Weights::Weights(std::string_view bytes, std::string where)
    : where_(std::move(where)), index_(safetensors_index(bytes, where_)) {
  list_names();
}

void Weights::list_names() {
  for (const SafetensorsEntry& entry : index_.tensors) by_name_[entry.name] = &entry;
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

Values Weights::values(const std::string& name, const Shape& shape) const {
  const std::size_t width = shape.back();
  return values(name, shape,
                {.lines = count_of(shape, name) / width, .width = width, .line_step = width});
}

Values Weights::values(const std::string& name, const Shape& shape, const Strides& strides) const {
  const SafetensorsEntry& entry = checked(name, shape);
  const LineReader reader{file_, entry.data, &safetensor_dtype(entry, where_), strides};
  refuse_broken(reader, entry, where_);
  const Values values = Values::made_by(strides.count(), strides.width, reader);
  return values.size() > teaching_numbers ? values : Values(values.begin(), values.end());
}

}  // namespace qkv
