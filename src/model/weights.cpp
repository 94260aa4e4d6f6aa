#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "formats/numeral.hpp"
#include "tensor/error.hpp"
#include "tensor/nearest.hpp"

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

// What is no weight that training has found: the first such number.
void refuse_broken(const std::vector<double>& values, const std::string& name, const Shape& shape,
                   const std::string& where) {
  const auto broken =
      std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (broken == values.end()) return;
  const auto place = static_cast<std::size_t>(broken - values.begin());
  const std::string cell = shape.size() == 2
                               ? fmt::format("{}, {}", place / shape[1], place % shape[1])
                               : std::to_string(place);
  throw InputError(fmt::format("{}: {} holds {} at [{}]; the file is damaged, or training failed",
                               where, name, std::isnan(*broken) ? "NaN" : "an infinity", cell));
}

}  // namespace

Weights::Weights(const std::filesystem::path& path, std::string where)
    : where_(std::move(where)),
      file_(std::make_unique<const MappedFile>(path)),
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

std::vector<double> Weights::values(const std::string& name, const Shape& shape) const {
  std::vector<double> values = safetensor_values(checked(name, shape), where_);
  refuse_broken(values, name, shape, where_);
  return values;
}

}  // namespace qkv
