#pragma once

#include "formats/arrays/arrays.hpp"
#include "formats/files/read_file.hpp"
#include "ops/operation.hpp"

namespace qkv::inline model {

inline constexpr std::string_view model_index_name = "model.safetensors.index.json";

/// How much of a tensor's name a message shows: a module's path may be long, and ends in what
/// tells.
inline constexpr std::size_t longest_tensor_name = 120;

/// The files of a trained model: its weights in one or several files, and the directory with its
/// configuration.
struct ModelFiles {
  std::vector<std::filesystem::path> weights = {};  ///< sorted by name
  std::filesystem::path directory;
  std::map<std::string, std::string> listed;  ///< the index: tensor → file; or empty
};

/// Returns the files of a model: `path` is a .safetensors file, a model.safetensors.index.json, or
/// a directory with one of them. `where` opens messages. Throws InputError if there is none, if a
/// directory has several, or if listed files are missing.
ModelFiles model_files(const std::filesystem::path& path, const std::string& where);

/// The positions of matrices in a tensor, like NumPy's strides. Cell `j` of line `i` of matrix `m`
/// is number first + m · matrix_step + i · line_step + j · cell_step.
struct Strides {
  std::size_t matrices = 1;
  std::size_t lines = 1;
  std::size_t width = 0;
  std::size_t first = 0;
  std::size_t matrix_step = 0;
  std::size_t line_step = 0;
  std::size_t cell_step = 1;

  std::size_t count() const { return matrices * lines * width; }
  std::size_t place(std::size_t line) const {
    return first + line / lines * matrix_step + line % lines * line_step;
  }
};

/// A model's tensors in memory-mapped .safetensors files. Opening costs the same for any size, and
/// only requested tensors are read. Large ones are not copied: each use reads them from the file.
class Weights : NotCopied {
 public:
  /// `where` names the model in messages. Throws InputError if a file can't be read or is no
  /// .safetensors file, or if its tensors differ from the index.
  Weights(const ModelFiles& files, std::string where);

  /// The same for bytes, which must outlive this and all values read from it.
  Weights(std::string_view bytes, std::string where);

  const std::string& where() const { return where_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }

  const SafetensorsEntry* find(std::string_view name) const;  ///< nullptr if there is none
  /// Returns the numbers of a vector or matrix, in file order or by `strides`; they outlive this.
  /// The file must not change meanwhile: large tensors are read again later. Throws InputError if
  /// no tensor has this name and shape (with both shapes), or a number is NaN or infinite.
  Values values(const std::string& name, const Shape& shape) const;
  Values values(const std::string& name, const Shape& shape, const Strides& strides) const;
  /// Returns the entry after the same checks, but reads no number.
  const SafetensorsEntry& checked(const std::string& name, const Shape& shape) const;

 private:
  void list_names();
  void refuse_broken(const SafetensorsEntry& entry, const Dtype& dtype) const;
  const std::shared_ptr<const MappedFile>& file_of(const SafetensorsEntry& entry) const;

  std::string where_;
  std::vector<SafetensorsEntry> tensors_;
  std::vector<std::shared_ptr<const MappedFile>> files_;  ///< of each tensor; nullptr if built in
  std::map<std::string, std::string> metadata_;
  mutable std::set<const SafetensorsEntry*> checked_;
  std::map<std::string_view, const SafetensorsEntry*> by_name_;
};

struct ConfigEntry {
  std::string text;
  std::string where;           ///< the file with the entry, as named in messages
  bool is_configured = false;  ///< that file is config.json, all of whose entries count
};

/// The configuration of a model: "n_head" → "12", from config.json and the file's metadata. An
/// entry of a nested object has the object's name before it, "rope_scaling.factor". Lists are JSON,
/// null is "null".
using Config = std::map<std::string, ConfigEntry, std::less<>>;

/// Reads the model's configuration: config.json in `directory`, and of the metadata no more than
/// `family`, `vocabulary` and `n_head`. Without config.json all of the metadata.
Config config_of(const Weights& weights, const std::optional<std::filesystem::path>& directory);

/// Returns the entry of that name; nullptr if it is missing or null.
const Config::value_type* find_entry(const Config& config, std::string_view name);

/// Returns a positive integer entry; nothing if it is missing or null. Throws InputError for any
/// other value.
std::optional<std::size_t> positive_integer(const Config& config, std::string_view name);

/// Returns a positive finite entry. Nothing, or InputError, as above.
std::optional<double> positive_number(const Config& config, std::string_view name);

/// Returns a boolean entry. Throws InputError as above.
bool flag_entry(const Config& config, std::string_view name, bool otherwise);

/// Returns the strings of a JSON list; nothing if the text is something else.
std::optional<std::vector<std::string>> strings_in(std::string_view json);

/// Returns a list of strings, from JSON. Throws InputError as above.
std::optional<std::vector<std::string>> string_list(const Config& config, std::string_view name);

/// Throws InputError, with the reason `why`, if the entry is present and differs from `expected`.
void require_entry(const Config& config, std::string_view name, std::size_t expected,
                   std::string_view why);

/// A size: its entry, the number that the tensors have, and what it counts ("layers").
struct ConfigSize {
  std::string_view name;
  std::size_t expected = 0;
  std::string_view what;
};

/// Throws InputError if an entry differs from a size that the tensors of `file` have.
void require_sizes(const Config& config, std::string_view file, std::span<const ConfigSize> sizes);

/// Throws InputError: the entry, its value, and why it is refused.
[[noreturn]] void refuse_entry(const Config::value_type& fact, std::string_view why);

/// Returns the activation that an entry names: "silu", "relu", or a form of GELU, "erf" or "tanh".
/// Throws InputError for any other.
std::string activation_of(const Config::value_type& entry);

/// A known entry of config.json and its allowed value.
struct ConfigRule {
  std::string_view key;
  std::string_view only = {};  ///< the one allowed value besides null; empty: any
  std::string_view why = {};   ///< why other values are refused
};

/// Throws InputError for entries of config.json that are neither in `rules` nor irrelevant to the
/// numbers ("bos_token_id"), and for values that a rule forbids. `kind` names the model in
/// messages.
void refuse_unknown_config(const Config& config, std::span<const ConfigRule> rules,
                           std::string_view kind);

/// Traits that distinguish the families derived from LLaMA.
struct FamilyTraits {
  /// Which layers have a sliding window if config.json does not list them.
  enum class Windows { none, all, late, alternating };

  bool norms_queries_and_keys = false;  ///< QK-norm
  bool has_biases = false;              ///< of queries, keys and values, whatever config.json says
  bool unit_offset = false;             ///< norms multiply by 1 + gain
  bool scales_embeddings = false;       ///< by √d_model
  bool norms_after = false;             ///< also a norm after each part
  bool caps = false;                    ///< caps scores and logits; another score scale is possible
  bool ties = false;                    ///< logits use the token table, by default
  Windows windows = Windows::none;
  double longest = 32768;          ///< max_position_embeddings, by default
  std::string_view gate = "silu";  ///< by default; else "tanh" or "erf", a form of GELU
};

/// A family of models that are stored in the same way.
struct Family {
  /// How the weight of a linear map is stored: in × out as in Conv1D, or out × in as in nn.Linear.
  enum class Storage { in_out, out_in };

  std::string_view name;
  Storage storage;
  std::string_view gelu;                 ///< the form of its GELU: "tanh" or "erf"
  const FamilyTraits* traits = nullptr;  ///< nullptr: a relative of GPT-2
};

/// Returns all known families. Of GPT-2's relatives the first that fits a file is used if nothing
/// names one.
std::span<const Family> families();

/// The user's choices, which override the file.
struct ArchitectureChoice {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
};

/// Additional settings of LLaMA's relatives.
struct LlamaParts {
  std::size_t key_heads = 0;         ///< heads of keys and values
  Options rope;                      ///< options of the rotary positions
  std::vector<std::size_t> windows;  ///< for each layer, how many keys a query sees; 0: all
  bool has_biases = false;           ///< of queries, keys and values
  bool has_output_bias = false;      ///< of W_O
  bool has_mlp_biases = false;
  double score_divisor = 0;  ///< 0: √d_k
  std::optional<double> score_cap;
  std::optional<double> logit_cap;
};

/// The sizes of a decoder-only, pre-norm transformer, derived from the names and shapes of its
/// tensors.
struct Architecture {
  const Family* family = nullptr;
  std::string prefix;  ///< before all tensor names but lm_head's: "transformer."
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t head_width = 0;
  std::size_t d_model = 0;
  std::size_t d_mlp = 0;
  std::size_t positions = 0;  ///< the longest text in tokens; 0: no limit
  std::size_t vocabulary = 0;
  std::string activation = "tanh";  ///< or the gate's: "silu", "relu", "erf" or "tanh" (GELU)
  double eps = 1e-5;
  std::string token_table;  ///< full tensor name
  std::string unembedding;  ///< full tensor name; equals token_table if tied
  std::optional<LlamaParts> llama = {};

  bool is_tied() const { return unembedding == token_table; }
};

/// Returns the sizes of the recognised model. Throws InputError for an unknown family (with the
/// tensor names found), and for tensors that are missing, unknown or of another shape. Throws it
/// also for entries of config.json that are unknown or contradict the tensors, and for an unknown
/// number of heads.
Architecture architecture_of(const Weights& weights, const Config& config,
                             const ArchitectureChoice& choice);

/// The names of a layer's tensors after its number, and of buffers that hold no weights.
struct LayerNames {
  std::string_view kind;  ///< "GPT-2", for messages
  std::span<const std::string_view> parts;
  std::span<const std::string_view> buffers;
};

/// Returns the matrix of that name. Throws InputError if it is missing or no matrix.
const SafetensorsEntry& matrix_of(const Weights& weights, const std::string& name);

/// Returns the number of layers whose tensor names begin with `start` ("transformer.h."). Throws
/// InputError if their numbers are not 0, 1, 2, …, or a layer has an unknown tensor.
std::size_t count_layers(const Weights& weights, const std::string& start, const LayerNames& names);

/// Throws InputError for the first tensor outside the layers that is not in `known`.
void refuse_unknown_tensors(const Weights& weights, const std::string& start, std::string_view kind,
                            std::span<const std::string> known);

/// Returns the sizes of a relative of GPT-2 whose tensor names begin with `prefix`. Throws
/// InputError like architecture_of.
Architecture gpt_architecture(const Weights& weights, const Config& config,
                              const ArchitectureChoice& choice, const std::string& prefix);

/// Returns the sizes of a relative of LLaMA with Hugging Face's names, which begin with `prefix`.
/// The family, heads, rotary positions, windows and caps come from config.json or the file's
/// metadata. Throws InputError like architecture_of.
Architecture llama_architecture(const Weights& weights, const Config& config,
                                const ArchitectureChoice& choice, const std::string& prefix);

}  // namespace qkv::inline model
