#include "trace/words.hpp"

namespace qkv {
namespace {

struct Word {
  std::string_view name;
  std::string_view axes;
};

constexpr Word words[] = {
    {"token_ids", "1 token"},
    {"token_embeddings", "token d_model"},
    {"position_embeddings", "token d_model"},
    {"X", "token d_model"},
    {"W_Q", "d_model d_k"},
    {"W_K", "d_model d_k"},
    {"W_V", "d_model d_v"},
    {"W_O", "h·d_v d_model"},
    {"Q", "token d_k"},
    {"K", "token d_k"},
    {"V", "token d_v"},
    {"scores", "query key"},
    {"scaled_scores", "query key"},
    {"masked_scores", "query key"},
    {"attention_weights", "query key"},
    {"context", "token d_v"},
    {"concat", "token h·d_v"},
    {"output", "token d_model"},
};

}  // namespace

std::string_view usual_axes(std::string_view name) {
  for (const Word& word : words) {
    if (word.name == name) return word.axes;
  }
  return {};
}

bool is_name_of_weight(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);  // h0.W_Q
  if (!name.starts_with('W') && !name.starts_with('w')) return false;
  const bool is_word = name.size() > 2 && name[1] >= 'a' && name[1] <= 'z';
  return !is_word;
}

bool is_name_of_heads(std::string_view name) {
  constexpr std::string_view past = "past_";
  constexpr std::string_view added = "_new";
  if (name.starts_with(past)) name.remove_prefix(past.size());
  if (name.ends_with(added)) name.remove_suffix(added.size());
  return name == "Q" || name == "K" || name == "V";
}

}  // namespace qkv
