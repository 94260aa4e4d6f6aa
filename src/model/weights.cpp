#include "model/weights.hpp"

#include <fmt/format.h>

#include "formats/numeral.hpp"
#include "tensor/error.hpp"
#include "tensor/nearest.hpp"

namespace qkv {

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
    std::vector<std::string_view> names;
    for (const auto& [known, ignored] : by_name_) names.push_back(known);
    const std::string near = nearest(name, names);
    throw InputError(fmt::format(
        "{}: there is no tensor {}, which must be {}{}", where_, name, shape_text(shape),
        near.empty() ? "" : fmt::format("; is it \"{}\"?", printable(near))));
  }
  if (entry->shape != shape) {
    throw InputError(
        fmt::format("{}: {} must be {}, and is {}", where_, name, shape_text(shape),
                    entry->shape.empty() ? "a single number" : shape_text(entry->shape)));
  }
  return *entry;
}

std::vector<double> Weights::values(const std::string& name, const Shape& shape) const {
  return safetensor_values(checked(name, shape), where_);
}

}  // namespace qkv
