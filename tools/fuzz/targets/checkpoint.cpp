#include "directory.hpp"
#include "headers.hpp"
#include "lesson/library.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

// A model's directory as it is published: config.json, tokenizer.json, the index, and the headers
// of two files of weights, a zero byte between them; what is empty is not there. Without an index
// the first header is the model's only one. The model reads a text where it has a tokeniser, and
// writes one token more.
void call(std::string_view bytes) {
  static const OwnDirectory directory;
  const std::vector<std::string_view> files = parts(bytes, 5);
  directory.empty();
  const auto put = [&](std::string_view name, std::string_view content) {
    if (!content.empty()) directory.put(name, content);
  };
  put("config.json", files[0]);
  put("tokenizer.json", files[1]);
  put("model.safetensors.index.json", files[2]);
  put(files[2].empty() ? "model.safetensors" : "1.safetensors", safetensors_of(files[3]));
  if (!files[4].empty()) put("2.safetensors", safetensors_of(files[4]));

  LessonChanges changes{.text = {}, .set = {}};
  if (files[1].empty()) {
    changes.ids = {0, 1};
  } else {
    changes.text = "a b";
  }
  const LoadedLesson loaded = load_model(directory.path().string(), changes, {.new_tokens = 1});
  law(!loaded.trace.steps.empty(), "a model has steps");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = std::size_t{1} << 13};

}  // namespace qkv::fuzz
