#include <nlohmann/json.hpp>

#include "formats/arrays/little_endian.hpp"
#include "formats/arrays/safetensors.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

}  // namespace

void write_safetensors(const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, const Sink& sink) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const NamedTensor& named : tensors) by_name[named.name] = named.tensor;
  Json header = Json::object();  // sorts its keys
  if (!metadata.empty()) header[std::string(safetensors_metadata_key)] = metadata;
  std::size_t end = 0;
  for (const auto& [name, tensor] : by_name) {
    const std::size_t begin = end;
    end += tensor->values.size() * sizeof(double);
    header[std::string(name)] = {
        {"dtype", "F64"}, {"shape", tensor->shape()}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append(
      (safetensors_length_size - text.size() % safetensors_length_size) % safetensors_length_size,
      ' ');
  sink(little_endian(text.size(), safetensors_length_size) + text);
  for (const auto& [name, tensor] : by_name) {
    tensor->values.in_pieces([&](auto piece) { sink(bytes_of(piece)); });
  }
}

}  // namespace qkv
