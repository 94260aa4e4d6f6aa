#include "model/model.hpp"

#include "tokens/tokens.hpp"

namespace qkv::inline model {
namespace {

using Path = std::filesystem::path;

// Files of trained models have a few megabytes.
constexpr std::size_t largest_tokenizer = std::size_t{64} << 20;
constexpr std::size_t letters = 26;

// A file of a tokeniser and the option of `tokenise` that takes it.
struct TokeniserFile {
  std::string_view option, file;
};
constexpr TokeniserFile one_file[] = {{"tokenizer", "tokenizer.json"}};
constexpr TokeniserFile two_files[] = {{"vocab", "vocab.json"}, {"merges", "merges.txt"}};
constexpr TokeniserFile as_openai_names_them[] = {{"vocab", "encoder.json"},
                                                  {"merges", "vocab.bpe"}};
constexpr std::span<const TokeniserFile> file_sets[] = {one_file, two_files, as_openai_names_them};

void set_file(Options& options, std::string_view option, const Path& path) {
  options.set(std::string(option), path.filename().string());
  options.set_contents(std::string(option), read_bytes(path, largest_tokenizer));
}

std::optional<Tokeniser> from_directory(const Path& directory) {
  for (const std::span<const TokeniserFile> set : file_sets) {
    const bool whole = std::ranges::all_of(set, [&](const TokeniserFile& part) {
      return std::filesystem::is_regular_file(status_at(directory / part.file));
    });
    if (!whole) continue;
    Tokeniser tokeniser{.options = Options::of("method", "bpe"), .vocabulary = {}};
    for (const auto& [option, file] : set) set_file(tokeniser.options, option, directory / file);
    return tokeniser;
  }
  return {};
}

Tokeniser from_path(const Path& path) {
  if (std::filesystem::is_directory(status_at(path))) {
    if (auto found = from_directory(path)) return *found;
    throw InputError("{}: there is neither tokenizer.json nor vocab.json with merges.txt in it",
                     printable(path.string()));
  }
  Tokeniser tokeniser{.options = Options::of("method", "bpe"), .vocabulary = {}};
  set_file(tokeniser.options, "tokenizer", path);
  return tokeniser;
}

// Words of one letter each need no blanks between them.
Tokeniser from_words(std::vector<std::string> words) {
  Tokeniser tokeniser;
  const bool is_letters = std::ranges::all_of(
      words, [](const std::string& word) { return characters_of(word).size() == 1; });
  tokeniser.options.set("method", std::string(is_letters ? "characters" : "words"));
  if (is_letters) tokeniser.options.set("blanks", contains(words, " "));
  tokeniser.vocabulary = std::move(words);
  return tokeniser;
}

// `whose` begins the message: "the vocabulary", with its file.
void refuse_doubles(const std::vector<std::string>& words, std::string_view whose) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < words.size(); ++id) {
    if (words[id].empty()) throw InputError("{} has an empty word, as id {}", whose, id);
    const auto [known, is_new] = ids.emplace(words[id], id);
    if (is_new) continue;
    throw InputError("{} has \"{}\" twice, as id {} and as id {}", whose, printable(words[id]),
                     known->second, id);
  }
}

Tokeniser chosen_tokeniser(const Architecture& model, const Config& config,
                           const std::optional<Path>& directory, const TokeniserChoice& choice) {
  std::vector<std::string> words = choice.vocabulary;
  std::string whose = "the vocabulary";
  if (words.empty() && choice.tokenizer) return from_path(*choice.tokenizer);
  if (const auto entry = config.find("vocabulary"); words.empty() && entry != config.end()) {
    const auto list = strings_in(entry->second.text);
    if (!list) {
      refuse(entry->second.where, R"(vocabulary must be a list of words in JSON: ["A", "B"])");
    }
    words = *list;
    whose = entry->second.where + ": the vocabulary";
  }
  if (words.size() > model.vocabulary) {
    throw InputError("{} has {} words, but the model has embeddings for {}", whose, words.size(),
                     model.vocabulary);
  }
  refuse_doubles(words, whose);
  if (!words.empty()) return from_words(std::move(words));
  if (auto found = directory ? from_directory(*directory) : std::nullopt) return *found;
  return from_words(mapped_places(model.vocabulary, [&](std::size_t id) {
    return model.vocabulary <= letters ? std::string(1, static_cast<char>('A' + id))
                                       : std::to_string(id);
  }));
}

// Returns the texts of all ids; empty for ids that no text produces.
std::vector<std::string> labels_of(const Tokeniser& tokeniser, std::size_t ids) {
  const Options& options = tokeniser.options;
  std::vector<std::string> labels = tokeniser.vocabulary;
  if (options.has("tokenizer")) {
    labels = byte_pair_encoder(options.contents("tokenizer"))->texts(ids);
  } else if (options.has("vocab")) {
    labels = byte_pair_encoder(options.contents("vocab"), options.contents("merges"))->texts(ids);
  }
  labels.resize(ids);
  return labels;
}

// Returns the model's tokeniser. In this order: the choice; `vocabulary` in the file's metadata, a
// JSON list; tokenizer.json, or vocab.json and merges.txt, in `directory`; the letters A, B, C, …
// if these are enough; numbers, so that the text is the ids.
Tokeniser tokeniser_of(const Architecture& model, const Config& config,
                       const std::optional<Path>& directory, const TokeniserChoice& choice) {
  if (!choice.vocabulary.empty() && choice.tokenizer) {
    throw InputError("write either a vocabulary or a tokenizer; the model's tokens can't be both");
  }
  Tokeniser tokeniser = chosen_tokeniser(model, config, directory, choice);
  try {
    tokeniser.labels = labels_of(tokeniser, model.vocabulary);
  } catch (const InputError& error) {
    const Path path = choice.tokenizer.value_or(directory.value_or(Path()));
    throw InputError("{}: {}", printable(path.string()), error.what());
  }
  return tokeniser;
}

std::string_view gate_words(const Architecture& model) {
  if (model.activation == "erf") return model.llama ? "gates by exact GELU" : "exact GELU";
  if (model.activation == "tanh") return model.llama ? "gates by tanh's GELU" : "GELU by tanh";
  if (model.activation == "relu") return model.llama ? "gates by ReLU" : "ReLU";
  return "gates by SiLU";
}

std::string title_of(const Architecture& model) {
  const bool shares = model.llama && model.llama->key_heads < model.heads;
  return fmt::format("A trained transformer: {} of {}{}, d_model {}, {}, {}",
                     pluralise(model.layers, "layer"), pluralise(model.heads, "head"),
                     shares ? fmt::format(" ({} of keys and values)", model.llama->key_heads) : "",
                     model.d_model, pluralise(model.vocabulary, "token"), gate_words(model));
}

}  // namespace

Model read_model(const ModelChoice& choice) {
  const ModelFiles files = choice.built_in ? ModelFiles{} : model_files(choice.file, choice.where);
  std::optional<std::filesystem::path> directory;  // none if built in
  if (!choice.built_in) directory = files.directory;
  const Weights weights =
      choice.built_in ? Weights(*choice.built_in, choice.where) : Weights(files, choice.where);
  const Config config = config_of(weights, directory);
  Model model;
  model.architecture = architecture_of(weights, config, choice.architecture);
  model.title = title_of(model.architecture);
  if (const auto source = config.find("source"); source != config.end()) {
    model.source = source->second.text;
  }
  const std::size_t layers = choice.layers.value_or(model.architecture.layers);
  if (layers > model.architecture.layers) {
    throw InputError("{}: the model has {}, not {}", choice.where,
                     pluralise(model.architecture.layers, "layer"), layers);
  }
  const Tokeniser tokeniser = tokeniser_of(model.architecture, config, directory, choice.tokeniser);
  model.tokens = tokeniser.labels;
  build_recipe(model, weights, tokeniser, layers,
               std::min(layers, choice.enough_layers.value_or(layers)));
  return model;
}

}  // namespace qkv::inline model
