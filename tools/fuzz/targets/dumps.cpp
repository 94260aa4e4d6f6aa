#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <map>

#include "choices.hpp"
#include "directory.hpp"
#include "formats/arrays/arrays.hpp"
#include "formats/arrays/dtype.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "text/strings.hpp"

namespace qkv::fuzz {
namespace {

// A lesson of the course, evaluated once; those of models are large.
const LoadedLesson& any_lesson(Choices& choices) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const BuiltInLesson& lesson : built_in_lessons()) {
      if (lesson.toml.find("[model]") == lesson.toml.npos) all.emplace_back(lesson.name);
    }
    return all;
  }();
  static std::map<std::string, LoadedLesson> loaded;
  const std::string& name = choices.among(names);
  const auto known = loaded.find(name);
  return known != loaded.end() ? known->second
                               : loaded.emplace(name, load_lesson(name)).first->second;
}

// The shape as it is, or one of those that programs and people write instead.
Shape changed(Shape shape, Choices& choices) {
  const std::size_t axis = shape.empty() ? 0 : choices.below(shape.size());
  switch (choices.below(10)) {
    case 0: std::ranges::reverse(shape); break;
    case 1: shape.insert(shape.begin(), 1 + choices.below(2)); break;
    case 2: shape.push_back(1); break;
    case 3:
      if (!shape.empty()) shape.erase(shape.begin() + static_cast<long>(axis));
      break;
    case 4:
      if (!shape.empty()) shape[axis] += 1;
      break;
    case 5:
      if (!shape.empty()) shape[axis] = choices.below(3);
      break;
    case 6:
      if (shape.size() > 1) std::swap(shape[0], shape[1]);
      break;
    default: break;
  }
  return shape;
}

Tensor numbers_of_shape(const Shape& shape, const Tensor& right, Choices& choices) {
  std::size_t count = 1;
  for (const std::size_t size : shape) count *= size;
  std::vector<double> values(count);
  const double factor = std::array{1.0, 1.0, 1.0, 0.0, -1.0, 2.0, 1e300, 1e-300}[choices.below(8)];
  const double noise = choices.once_in(2) ? 0.01 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double own = right.values.empty() ? 0 : right.values[i % right.values.size()];
    values[i] = own * factor + noise * static_cast<double>(choices.below(3));
    if (choices.once_in(64))
      values[i] = std::array<double, 4>{NAN, INFINITY, -INFINITY, 1e308}[choices.below(4)];
  }
  return tensor_of(shape, std::move(values));
}

// Nested lists, as JSON and printed text have them.
std::string nested(const Tensor& tensor, std::size_t axis, std::size_t& next, int decimals) {
  if (axis == tensor.rank()) {
    const double value = tensor.values[next++];
    return std::isnan(value) ? "NaN"
                             : fmt::format("{:.{}f}", std::clamp(value, -1e15, 1e15), decimals);
  }
  std::vector<std::string> all(tensor.axes[axis].size);
  for (std::string& one : all) one = nested(tensor, axis + 1, next, decimals);
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string nested(const Tensor& tensor, Choices& choices) {
  std::size_t next = 0;
  return nested(tensor, 0, next, static_cast<int>(choices.below(6)));
}

std::string csv(const Tensor& tensor, Choices& choices) {
  std::string text;
  const int decimals = static_cast<int>(choices.below(6));
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    text += fmt::format("{:.{}f}", std::clamp(tensor.values[i], -1e15, 1e15), decimals);
    text += tensor.rank() == 0 || (i + 1) % tensor.columns() == 0 ? '\n' : ',';
  }
  return text;
}

// A .npy file of another type than its numbers: the bytes are read as that type.
std::string npy_of_type(const Tensor& tensor, Choices& choices) {
  constexpr std::string_view types[] = {"<f8", "<f4", "<f2", "<i8", "|i1", "|b1",
                                        ">f8", "<c8", "<u2", "|S4", "<U2", "|O"};
  std::string bytes = npy_header(tensor.shape()).append(bytes_of(tensor.values));
  const std::size_t at = bytes.find("<f8");
  if (at != bytes.npos) bytes.replace(at, 3, choices.among(types));
  return choices.once_in(8) ? bytes.substr(0, bytes.size() - std::min<std::size_t>(bytes.size(), 5))
                            : bytes;
}

std::string written(const std::function<void(const Sink&)>& write) {
  std::string bytes;
  write([&](std::string_view piece) { bytes += piece; });
  return bytes;
}

void put_file(const OwnDirectory& directory, const std::string& name, const Tensor& tensor,
              Choices& choices) {
  const std::vector<NamedTensor> all = {{name, tensor}};
  switch (choices.below(7)) {
    case 0: return directory.put(name + ".csv", csv(tensor, choices));
    case 1: return directory.put(name + ".json", nested(tensor, choices));
    case 2:
      return directory.put("all.json",
                           fmt::format("{{\"{}\": {}}}", name, nested(tensor, choices)));
    case 3: return directory.put(name + ".txt", nested(tensor, choices));
    case 4: return directory.put(name + ".npy", npy_of_type(tensor, choices));
    case 5:
      return directory.put("all.npz", written([&](const Sink& sink) { write_npz(all, sink); }));
    default:
      directory.put("all.safetensors",
                    written([&](const Sink& sink) { write_safetensors(all, {}, sink); }));
  }
}

std::string changed_name(const std::string& name, Choices& choices) {
  switch (choices.below(12)) {
    case 0: return "05-" + name;
    case 1: return name + ".head-2";
    case 2: return name + ".batch-1.head-9";
    case 3: return "d_" + name;
    case 4: return "model.layers.0." + name;
    case 5: return name + ".grad";
    default: return name;
  }
}

void call(std::string_view bytes) {
  static const OwnDirectory directory;
  directory.empty();
  Choices choices(bytes);
  const LoadedLesson& lesson = any_lesson(choices);
  const std::size_t count = 1 + choices.below(4);
  for (std::size_t k = 0; k < count; ++k) {
    const Step& named = choices.among(lesson.trace.steps);
    const Step& right = choices.once_in(6) ? choices.among(lesson.trace.steps) : named;
    const Tensor shown = as_shown(right.output, lesson.trace.token_layout);
    const Tensor tensor = numbers_of_shape(changed(shown.shape(), choices), shown, choices);
    put_file(directory, changed_name(named.name, choices), tensor, choices);
  }
  try {
    check_files(lesson, directory.path());
  } catch (const InputError&) {  // then it can still be compared
  }
  compare_files(lesson, directory.path());
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
