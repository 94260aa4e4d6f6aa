#include "model/architecture.hpp"

#include <nlohmann/json.hpp>

#include <atomic>

#include "tensor/matmul.hpp"
#include "tensor/resources.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline model {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view single_name = "model.safetensors";
constexpr std::size_t largest_index = std::size_t{64} << 20;

bool is_there(const Path& path) { return std::filesystem::exists(status_at(path)); }

// Reads which tensor is in which file. The files must be in the directory of the index.
std::map<std::string, std::string> weight_map(const Path& index, const std::string& where) {
  const auto json = nlohmann::json::parse(read_bytes(index, largest_index), nullptr, false);
  const auto found = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_object() || found->empty()) {
    refuse(where,
           "this is not an index of a model's files: it has no weight_map, which says in which "
           "file each tensor is");
  }
  std::map<std::string, std::string> listed;
  for (const auto& [tensor, file] : found->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || Path(name).filename() != Path(name)) {
      refuse(where,
             "weight_map: {} is not in a file beside the index; its value must be the file's name "
             "alone",
             printable(tensor));
    }
    listed[tensor] = name;
  }
  return listed;
}

ModelFiles from_index(const Path& index, const std::string& where) {
  ModelFiles files{.directory = index.parent_path(), .listed = weight_map(index, where)};
  std::set<std::string> names;
  for (const auto& [tensor, file] : files.listed) names.insert(file);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    files.weights.push_back(files.directory / name);
    if (!is_there(files.weights.back())) missing.push_back(printable(name, longest_tensor_name));
  }
  if (missing.empty()) return files;
  refuse(where, "the index lists {} {}, and {} not beside it: {}; fetch the model whole",
         names.size(), names.size() == 1 ? "file" : "files",
         missing.size() == 1 ? "one is" : fmt::format("{} are", missing.size()),
         abbreviated_list(missing));
}

// Explains what a directory without .safetensors files has instead.
std::string other_weights(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view ending) {
    return std::ranges::any_of(names, [&](const auto& name) { return name.ends_with(ending); });
  };
  if (has(".gguf")) {
    return "it has GGUF files, as llama.cpp reads them; qkv reads .safetensors files";
  }
  for (const std::string_view ending : {".bin", ".pth", ".pt"}) {
    if (!has(ending)) continue;
    return fmt::format(
        "it has PyTorch's own files ({}); write the tensors out with safetensors.torch.save_file",
        ending);
  }
  return "a model's directory has model.safetensors, or model.safetensors.index.json and the files "
         "that it lists";
}

ModelFiles from_directory(const Path& directory, const std::string& where) {
  // Hugging Face's library, too, reads the index only if there is no such file.
  if (!is_there(directory / single_name) && is_there(directory / model_index_name)) {
    return from_index(directory / model_index_name, (Path(where) / model_index_name).string());
  }
  constexpr auto skip = std::filesystem::directory_options::skip_permission_denied;
  auto names = mapped(std::filesystem::directory_iterator(directory, skip),
                      [](const auto& entry) { return entry.path().filename().string(); });
  std::ranges::sort(names);
  auto weights =
      filtered(names, [](const std::string& name) { return name.ends_with(".safetensors"); });
  if (contains(weights, single_name)) weights = {std::string(single_name)};
  if (weights.empty()) {
    refuse(where, "there is no .safetensors file in this directory: {}", other_weights(names));
  }
  if (weights.size() > 1) {
    refuse(where,
           "there are {} .safetensors files in this directory and no {} to say which belong "
           "together; name one of them, or fetch the index",
           weights.size(), model_index_name);
  }
  return {.weights = {directory / weights.front()}, .directory = directory, .listed = {}};
}

// "transformer.h.12.attn" → "12": a suggestion must be of the same layer.
std::string digits_of(std::string_view name) {
  std::string digits;
  std::ranges::copy_if(name, std::back_inserter(digits), is_digit);
  return digits;
}

struct WeightReader {
  std::shared_ptr<const MappedFile> file;  // keeps the mapping; nullptr if built in
  std::string_view bytes;
  const Dtype* dtype;
  Strides strides;

  // Reads numbers that lie side by side, from the `first` of the tensor on.
  void read(std::size_t first, std::span<double> numbers) const {
    dtype->load(bytes.data() + first * dtype->size, dtype->size, ByteOrder::little, numbers);
  }

  // Fills whole lines, from `line` on. The numbers of a line, or of a column, are side by side in
  // the file. Eight lines or columns are read with all that is between them, unless that is most.
  void operator()(std::size_t line, std::span<double> cells) const {
    if (cells.empty()) return;
    const std::size_t width = strides.width;
    const std::size_t lines = cells.size() / width;
    const std::size_t place = strides.place(line);
    const bool in_lines = strides.cell_step == 1;
    const std::size_t length = in_lines ? width : lines;
    const std::size_t step = in_lines ? strides.line_step : strides.cell_step;
    const bool in_one_matrix = line / strides.lines == (line + lines - 1) / strides.lines;
    constexpr std::size_t most_unused = 16;  // numbers read for each one that is used
    if (!in_one_matrix || step > most_unused * length) {
      for (std::size_t l = 0; l < lines; ++l) {
        dtype->load(bytes.data() + strides.place(line + l) * dtype->size,
                    strides.cell_step * dtype->size, ByteOrder::little,
                    cells.subspan(l * width, width));
      }
      return;
    }
    constexpr std::size_t at_once = 8;
    constexpr std::size_t operations = 4;  // per number: read, convert, load, store
    const std::size_t count = in_lines ? lines : width;
    parallel_for(count, at_once, operations * length, [&](std::size_t begin, std::size_t end) {
      if (in_lines) {
        for (; begin < end; ++begin)
          read(place + begin * step, cells.subspan(begin * width, width));
        return;
      }
      thread_local Scratch scratch;
      const std::span<double> numbers = scratch.of((end - begin - 1) * step + length);
      read(place + begin * step, numbers);
      for (std::size_t n = 0; n < length; ++n) {
        for (std::size_t k = begin; k < end; ++k)
          cells[n * width + k] = numbers[(k - begin) * step + n];
      }
    });
    const std::size_t used = ((count - 1) * step + length) * dtype->size;
    if (file) file->release(bytes.substr(place * dtype->size, used));
  }
};

// Returns the index of the first NaN or infinity, or the count of numbers.
std::size_t first_broken(const WeightReader& reader) {
  constexpr std::size_t at_a_time = std::size_t{1} << 16;
  const Dtype& dtype = *reader.dtype;
  const std::size_t count = reader.bytes.size() / dtype.size;
  if (!dtype.are_finite) return count;
  std::atomic<std::size_t> first = count;
  parallel_for(count, at_a_time, 2, [&](std::size_t begin, std::size_t end) {
    if (dtype.are_finite(reader.bytes.substr(begin * dtype.size, (end - begin) * dtype.size)))
      return;
    std::vector<double> numbers(end - begin);
    reader.read(begin, numbers);
    const auto broken =
        std::ranges::find_if(numbers, [](double value) { return !std::isfinite(value); });
    const std::size_t place = begin + static_cast<std::size_t>(broken - numbers.begin());
    std::size_t known = first;
    while (place < known && !first.compare_exchange_weak(known, place)) {
    }
  });
  if (reader.file) reader.file->release(reader.bytes);
  return first;
}

// Each of several files may hold only the tensors that the index lists for it.
void refuse_unlisted(const SafetensorsEntry& entry, const std::filesystem::path& path,
                     const std::string& where, const std::map<std::string, std::string>& listed) {
  if (listed.empty()) return;
  const auto found = listed.find(entry.name);
  if (found != listed.end() && found->second == path.filename().string()) return;
  throw InputError("{}: {} is in it, and the index {}; fetch the model again", where,
                   printable(entry.name, longest_tensor_name),
                   found == listed.end() ? "does not list that tensor"
                                         : "says it is in " + printable(found->second));
}

using Storage = Family::Storage;
using Windows = FamilyTraits::Windows;

constexpr FamilyTraits llama_traits{.longest = 2048};
constexpr FamilyTraits mistral{.windows = Windows::all, .longest = 131072};
constexpr FamilyTraits qwen2{.has_biases = true, .windows = Windows::late};
constexpr FamilyTraits qwen3{.norms_queries_and_keys = true, .windows = Windows::late};
constexpr FamilyTraits gemma{
    .unit_offset = true, .scales_embeddings = true, .ties = true, .longest = 8192, .gate = "tanh"};
constexpr FamilyTraits gemma2{.unit_offset = true,
                              .scales_embeddings = true,
                              .norms_after = true,
                              .caps = true,
                              .ties = true,
                              .windows = Windows::alternating,
                              .longest = 8192,
                              .gate = "tanh"};

// The names of LLaMA's relatives are their model_type in config.json.
constexpr Family known_families[] = {
    {"gpt2", Storage::in_out, "tanh"},              // Hugging Face's GPT-2: weights in × out
    {"mingpt", Storage::out_in, "tanh"},            // minGPT: weights out × in, GELU by tanh
    {"nanogpt", Storage::out_in, "erf"},            // nanoGPT: weights out × in, exact GELU
    {"llama", Storage::out_in, "", &llama_traits},  // LLaMA 1 to 3
    {"mistral", Storage::out_in, "", &mistral},     // Mistral: sliding windows
    {"qwen2", Storage::out_in, "", &qwen2},         // Qwen2: biases of queries, keys and values
    {"qwen3", Storage::out_in, "", &qwen3},         // Qwen3: norms of queries and keys
    {"gemma", Storage::out_in, "", &gemma},         // Gemma 1: GELU, norms with 1 + gain
    {"gemma2", Storage::out_in, "", &gemma2},       // Gemma 2: norms after each part, caps
};

// The first few tensor names, for messages.
std::string names_met(const Weights& weights) {
  std::vector<std::string> met;
  constexpr std::size_t enough = 4;
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (met.size() < enough) met.push_back(printable(entry.name, longest_tensor_name));
  }
  return met.empty() ? "no tensor at all" : fmt::format("{}, …", fmt::join(met, ", "));
}

// Prefixes that programs put before the tensor names.
constexpr std::string_view gpt_prefixes[] = {"transformer.", "", "model.transformer.",
                                             "module.transformer.", "_orig_mod.transformer."};
constexpr std::string_view llama_prefixes[] = {"model.", ""};

}  // namespace

ModelFiles model_files(const Path& path, const std::string& where) {
  if (std::filesystem::is_directory(status_at(path))) return from_directory(path, where);
  if (path.extension() == ".json") return from_index(path, where);
  return {.weights = {path}, .directory = path.parent_path(), .listed = {}};
}

Weights::Weights(const ModelFiles& files, std::string where) : where_(std::move(where)) {
  const bool is_one = files.weights.size() == 1 && files.listed.empty();
  for (const std::filesystem::path& path : files.weights) {
    const std::string name = is_one ? where_ : printable(path.string());
    const auto file = std::make_shared<const MappedFile>(path);
    SafetensorsIndex index = safetensors_index(file->bytes(), name);
    for (SafetensorsEntry& entry : index.tensors) {
      refuse_unlisted(entry, path, name, files.listed);
      tensors_.push_back(std::move(entry));
      files_.push_back(file);
    }
    metadata_.merge(index.metadata);
  }
  list_names();
  for (const auto& [tensor, file] : files.listed) {
    if (by_name_.contains(tensor)) continue;
    throw InputError(
        "{}: the index says that {} is in {}, and it is not there; fetch the model again", where_,
        printable(tensor), printable(file));
  }
}

Weights::Weights(std::string_view bytes, std::string where) : where_(std::move(where)) {
  SafetensorsIndex index = safetensors_index(bytes, where_);
  tensors_ = std::move(index.tensors);
  files_.resize(tensors_.size());
  metadata_ = std::move(index.metadata);
  list_names();
}

void Weights::list_names() {
  for (const SafetensorsEntry& entry : tensors_) by_name_[entry.name] = &entry;
}

const std::shared_ptr<const MappedFile>& Weights::file_of(const SafetensorsEntry& entry) const {
  return files_[static_cast<std::size_t>(&entry - tensors_.data())];
}

const SafetensorsEntry* Weights::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const SafetensorsEntry& Weights::checked(const std::string& name, const Shape& shape) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) {
    const auto is_alike = [&](const auto& one) { return digits_of(one.first) == digits_of(name); };
    const std::string near =
        suggest(name, filtered(by_name_, is_alike, [](const auto& one) { return one.first; }));
    throw InputError("{}: there is no tensor {}, which must be {}{}", where_, name,
                     shape_text(shape),
                     near.empty() ? "" : fmt::format("; is it \"{}\"?", printable(near)));
  }
  if (entry->shape != shape) {
    throw InputError("{}: {} must be {}, and is {}", where_, name, shape_text(shape),
                     entry->shape.empty() ? "a single number" : shape_text(entry->shape));
  }
  constexpr std::string_view floats[] = {"F64", "F32", "F16", "BF16"};
  if (!contains(floats, entry->dtype)) {
    throw InputError(
        "{}: {} is stored as {}; weights are read as F64, F32, F16 or BF16, so write the model out "
        "unquantised",
        where_, name, printable(entry->dtype));
  }
  return *entry;
}

void Weights::refuse_broken(const SafetensorsEntry& entry, const Dtype& dtype) const {
  if (!checked_.insert(&entry).second) return;
  const std::size_t place = first_broken({file_of(entry), entry.data, &dtype, {}});
  if (place == entry.data.size() / dtype.size) return;
  double value = 0;
  dtype.load(entry.data.data() + place * dtype.size, dtype.size, ByteOrder::little, {&value, 1});
  const std::size_t width = entry.shape.back();
  const std::string cell = entry.shape.size() == 2
                               ? fmt::format("{}, {}", place / width, place % width)
                               : std::to_string(place);
  throw InputError("{}: {} holds {} at [{}]; the file is damaged, or training failed", where_,
                   entry.name, std::isnan(value) ? "NaN" : "an infinity", cell);
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
  const WeightReader reader{file_of(entry), entry.data, &dtype, strides};
  if (strides.count() > small_tensor_limit) {
    std::shared_ptr<const Values> transposed;
    if (strides.cell_step > 1) {
      WeightReader other = reader;
      std::swap(other.strides.lines, other.strides.width);
      std::swap(other.strides.line_step, other.strides.cell_step);
      transposed = std::make_shared<const Values>(
          Values::lazy(strides.count(), strides.lines, std::move(other)));  // its width
    }
    return Values::lazy(strides.count(), strides.width, reader, std::move(transposed));
  }
  Values values = Values::uninitialised(strides.count());
  reader(0, values.mutable_span());
  return values;
}

std::span<const Family> families() { return known_families; }

const SafetensorsEntry& matrix_of(const Weights& weights, const std::string& name) {
  const SafetensorsEntry* entry = weights.find(name);
  if (entry == nullptr) throw InputError("{}: there is no tensor {}", weights.where(), name);
  if (entry->shape.size() != 2 || entry->shape[0] == 0 || entry->shape[1] == 0) {
    throw InputError("{}: {} must be a matrix, and is {}", weights.where(), name,
                     entry->shape.empty() ? "a single number" : shape_text(entry->shape));
  }
  return *entry;
}

std::size_t count_layers(const Weights& weights, const std::string& start,
                         const LayerNames& names) {
  std::set<std::size_t> layers;
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (!entry.name.starts_with(start)) continue;
    const std::string_view rest = std::string_view(entry.name).substr(start.size());
    const std::size_t dot = rest.find('.');
    const auto layer = parse_number<std::size_t>(rest.substr(0, dot));
    const std::string_view part = dot == rest.npos ? "" : rest.substr(dot + 1);
    const bool is_known = contains(names.parts, part) || contains(names.buffers, part);
    if (!layer || !is_known) {
      throw InputError("{}: no layer of a {} has a tensor {}; the layers have {}", weights.where(),
                       names.kind, printable(entry.name, longest_tensor_name),
                       fmt::join(names.parts, ", "));
    }
    layers.insert(*layer);
  }
  if (layers.empty() || *layers.rbegin() + 1 != layers.size()) {
    std::size_t missing = 0;
    while (layers.contains(missing)) ++missing;
    throw InputError("{}: there is no layer {} (no tensor {}{}.…)", weights.where(), missing, start,
                     missing);
  }
  return layers.size();
}

void refuse_unknown_tensors(const Weights& weights, const std::string& start, std::string_view kind,
                            std::span<const std::string> known) {
  for (const SafetensorsEntry& entry : weights.tensors()) {
    if (entry.name.starts_with(start) || contains(known, entry.name)) continue;
    const auto ends_alike = [&](const std::string& name) {
      return entry.name.ends_with("." + name) || name.ends_with("." + entry.name);
    };
    const auto near = std::ranges::find_if(known, ends_alike);
    throw InputError("{}: no {} whose tensors begin with \"{}\" has a tensor {}{}", weights.where(),
                     kind, start.substr(0, start.find_last_of('.', start.size() - 2) + 1),
                     printable(entry.name, longest_tensor_name),
                     near == known.end()
                         ? fmt::format("; outside its layers it has {}", fmt::join(known, ", "))
                         : fmt::format("; name it {}", *near));
  }
}

Architecture architecture_of(const Weights& weights, const Config& config,
                             const ArchitectureChoice& choice) {
  for (const std::string_view prefix : gpt_prefixes) {
    if (weights.find(std::string(prefix) + "wte.weight")) {
      return gpt_architecture(weights, config, choice, std::string(prefix));
    }
  }
  for (const std::string_view prefix : llama_prefixes) {
    if (weights.find(std::string(prefix) + "embed_tokens.weight")) {
      return llama_architecture(weights, config, choice, std::string(prefix));
    }
  }
  throw InputError(
      "{}: this is not a model that qkv knows: there is no transformer.wte.weight or wte.weight "
      "and no model.embed_tokens.weight, but {}; it reads the tensors of minGPT, nanoGPT and "
      "Hugging Face's GPT-2, LLaMA, Mistral, Qwen2, Qwen3, Gemma and Gemma 2 (of several files "
      "give the directory, or the index)",
      weights.where(), names_met(weights));
}

}  // namespace qkv::inline model
