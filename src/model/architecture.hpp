#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.hpp"
#include "model/weights.hpp"
#include "ops/options.hpp"

namespace qkv::inline model {

/// What sets the models of one of LLaMA's relatives apart from another's.
struct FamilyTraits {
  /// Which layers have a sliding window where config.json does not list them.
  enum class Windows { none, all, late, alternating };

  bool norms_queries_and_keys = false;  ///< QK-norm
  bool has_biases = false;              ///< of queries, keys and values, whatever the config says
  bool unit_offset = false;             ///< norms multiply by 1 + gain
  bool scales_embeddings = false;       ///< by √d_model
  bool norms_after = false;             ///< a norm behind each part as well
  bool caps = false;                    ///< scores and logits, and may scale by another number
  bool ties = false;                    ///< the token table serves for the logits, unless said
  Windows windows = Windows::none;
  std::string_view gate = "silu";  ///< where config.json says nothing: or "tanh" or "erf", of GELU
};

/// How a program stores a model: what sets its files apart from another's.
struct Family {
  /// How the weight of a linear map lies in the file: as Conv1D does, or as nn.Linear does.
  enum class Storage { in_out, out_in };

  std::string_view name;
  std::string_view says;
  Storage storage;
  std::string_view gelu;                 ///< which form its GELU has: "tanh" or "erf"
  const FamilyTraits* traits = nullptr;  ///< none: one of GPT-2's kind
};

/// All that are known; of GPT-2's kind the first that fits a file is taken where nothing says which
/// it is.
std::span<const Family> families();

/// What a person says of the model, in place of what its file tells.
struct ArchitectureChoice {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
};

/// What a model of LLaMA's kind has besides.
struct LlamaParts {
  std::size_t key_heads = 0;         ///< of keys and values
  Options rope;                      ///< of the rotary positions
  std::vector<std::size_t> windows;  ///< of each layer: how many keys a query sees; 0: all
  bool has_biases = false;           ///< of queries, keys and values
  bool has_output_bias = false;      ///< of W_O
  bool has_mlp_biases = false;
  double score_divisor = 0;  ///< 0: √d_k
  std::optional<double> score_cap;
  std::optional<double> logit_cap;
  std::string gate = "silu";  ///< or the form of its GELU
};

/// The sizes of a decoder-only transformer with its norms before attention and MLP, as its tensors'
/// names and shapes tell them.
struct Architecture {
  const Family* family = nullptr;
  std::string prefix;  ///< before every tensor's name but lm_head's: "transformer."
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t head_width = 0;
  std::size_t d_model = 0;
  std::size_t d_mlp = 0;
  std::size_t positions = 0;  ///< the longest text, in tokens; 0: any
  std::size_t vocabulary = 0;
  std::string gelu = "tanh";
  double eps = 1e-5;
  std::string token_table;  ///< the tensor's whole name
  std::string unembedding;  ///< its whole name; the token table's own where they are tied
  std::optional<LlamaParts> llama = {};

  bool is_tied() const { return unembedding == token_table; }
};

/// Recognises the model. Throws InputError for a file of another family (with the names that were
/// met), for a tensor that is missing, has another shape, or that no such model has, for an entry
/// of config.json that says otherwise than the tensors or that the family does not know, and where
/// nothing tells how many heads there are.
Architecture architecture_of(const Weights& weights, const Config& config,
                             const ArchitectureChoice& choice);

/// What the tensors of a layer are called behind its number, and which of them hold no weights.
struct LayerNames {
  std::string_view kind;  ///< "GPT-2", for messages
  std::span<const std::string_view> parts;
  std::span<const std::string_view> buffers;
};

/// The matrix of that name. Throws InputError where there is none, or it is no matrix.
const SafetensorsEntry& matrix_of(const Weights& weights, const std::string& name);

/// How many layers the tensors tell of whose names begin with `start` ("transformer.h."). Throws
/// InputError where they are not 0, 1, 2, …, or one has a tensor that no such layer has.
std::size_t count_layers(const Weights& weights, const std::string& start, const LayerNames& names);

/// Throws InputError for the first tensor outside the layers that is not among `known`.
void refuse_unknown_tensors(const Weights& weights, const std::string& start, std::string_view kind,
                            std::span<const std::string> known);

/// The first few names that were met, for messages.
std::string names_met(const Weights& weights);

}  // namespace qkv::inline model
