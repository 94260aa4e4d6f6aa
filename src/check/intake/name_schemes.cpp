#include "check/intake/step_names.hpp"

#include <numeric>

#include "tensor/matmul.hpp"
#include "text/number.hpp"

namespace qkv::inline check {
namespace {

// What an array of another program is called here: a module's output, its weight and bias. `*` is a
// layer's number, `<` the number of the layer before; `|` separates names of which the first that
// the lesson has is meant, or a later one if it alone has the array's size (between two dumps,
// which may lack it, another is open); `+` joins the steps that stand side by side in one array,
// `~` separates names of which the one is meant whose numbers are nearest. A rule with `beside`
// applies only if an array of theirs or a matrix of ours has that name. Without `ours`, an array is
// not our step of the same name, unless another array is ours.
struct NameRule {
  std::string_view theirs;
  std::string_view ours = {};
  std::string_view weight = {}, bias = {};  // of theirs with ".weight" and ".bias" behind it
  std::string_view beside = {};
};

// Source: the hooks of TransformerLens's HookedTransformer. The hook of an RMS norm has the rows
// before the gain, which no step has; so a norm's hook stands for a LayerNorm alone.
constexpr NameRule transformer_lens[] = {
    {.theirs = "hook_embed", .ours = "token_embeddings", .beside = "position_embeddings"},
    {.theirs = "hook_embed", .ours = "token_embeddings", .beside = "hook_pos_embed"},
    {.theirs = "hook_embed", .ours = "X", .beside = "h0.gelu"},  // Gemma's table comes scaled
    {"hook_embed", "token_embeddings"},
    {"hook_pos_embed", "position_embeddings"},
    {"blocks.0.hook_resid_pre", "X"},
    {"blocks.*.hook_resid_pre", "h<.residual2"},
    {.theirs = "blocks.*.ln1.hook_normalized", .ours = "h*.norm1", .beside = "h*.bias1"},
    {"blocks.*.attn.hook_q", "h*.Q"},
    {"blocks.*.attn.hook_k", "h*.K"},
    {"blocks.*.attn.hook_v", "h*.V"},
    {"blocks.*.attn.hook_rot_q", "h*.Q_rope"},
    {"blocks.*.attn.hook_rot_k", "h*.K_rope"},
    {"blocks.*.attn.hook_attn_scores", "h*.masked_scores"},
    {"blocks.*.attn.hook_pattern", "h*.attention_weights"},
    {"blocks.*.attn.hook_z", "h*.context"},
    {"blocks.*.hook_attn_out", "h*.norm1_out|h*.output"},
    {"blocks.*.hook_resid_mid", "h*.residual1"},
    {.theirs = "blocks.*.ln2.hook_normalized", .ours = "h*.norm2", .beside = "h*.bias2"},
    {"blocks.*.mlp.hook_pre", "h*.mlp_in|h*.gate"},
    {"blocks.*.mlp.hook_pre_linear", "h*.up"},
    {"blocks.*.mlp.hook_post", "h*.gated|h*.gelu|h*.relu"},
    {"blocks.*.hook_mlp_out", "h*.norm2_out|h*.mlp_out"},
    {"blocks.*.hook_resid_post", "h*.residual2"},
    {.theirs = "ln_final.hook_normalized", .ours = "norm", .beside = "bias"},
};

// Source: the names that llama.cpp's graph gives its tensors. Qcur and Kcur are named before and
// after the rotation; read_eval_callback tells them apart. Older programs, which have kqv_merged,
// have no attn_out: they name it kqv_out, as others name what W_O is applied to.
constexpr NameRule llama_cpp[] = {
    {"inp_embd", "token_embeddings"},
    {"embd", "token_embeddings"},
    {"pos_embd", "position_embeddings"},
    {"inpL", "X"},
    {"inp_scaled", "X"},
    {"attn_norm-*", "h*.norm1"},
    {"Qcur-* before ROPE", "h*.Q"},
    {"Kcur-* before ROPE", "h*.K"},
    {"Qcur-*", "h*.Q_rope"},
    {"Kcur-*", "h*.K_rope"},
    {"Qcur-*", "h*.Q"},
    {"Kcur-*", "h*.K"},
    {"Vcur-*", "h*.V"},
    {"Qcur_normed-*", "h*.Q_norm"},
    {"Kcur_normed-*", "h*.K_norm"},
    {"kq-*", "h*.scores"},
    {"kq_soft_max-*", "h*.attention_weights"},
    {"kq_soft_max_ext-*", "h*.attention_weights"},
    {"kqv-*", "h*.context"},
    {"kqv_merged-*", "h*.context"},
    {"kqv_merged_cont-*", "h*.concat"},
    {.theirs = "kqv_out-*", .ours = "h*.concat", .beside = "attn_out-*"},
    {.theirs = "kqv_out-*", .ours = "h*.output", .beside = "kqv_merged_cont-*"},
    {.theirs = "kqv_out-*", .ours = "h*.output", .beside = "kqv_merged-*"},
    {"kqv_out-*", "h*.output~h*.concat"},
    {"attn_out-*", "h*.output"},
    {"attn_post_norm-*", "h*.norm1_out"},
    {"ffn_inp-*", "h*.residual1"},
    {"sa_out-*", "h*.residual1"},
    {"ffn_norm-*", "h*.norm2"},
    {"ffn_gate-*", "h*.gate"},
    {"ffn_up-*", "h*.up|h*.mlp_in"},
    {"ffn_silu-*", "h*.silu"},
    {"ffn_gelu-*", "h*.gelu"},
    {"ffn_relu-*", "h*.relu"},
    {"ffn_gate_par-*", "h*.gated"},
    {"ffn_swiglu-*", "h*.gated"},
    {"ffn_geglu-*", "h*.gated"},
    {"ffn_out-*", "h*.mlp_out"},
    {"ffn_post_norm-*", "h*.norm2_out"},
    {"l_out-*", "h*.residual2"},
    {"result_norm", "norm"},
    {.theirs = "norm", .beside = "result_norm"},  // before its gain
    {"result_output", "capped_logits|logits"},
};

// Source: the modules of minGPT, nanoGPT and Hugging Face's GPT-2. Outputs have a module's path;
// gradients end in ".grad".
constexpr NameRule gpt2[] = {
    {"returned", "capped_logits|logits"},  // by the model, as the Python package records it
    {"wte", "token_embeddings", "token_table"},
    {"wpe", "position_embeddings", "position_table"},
    {"drop", "X"},
    {"h.*.ln_1", "h*.norm1", "h*.gain1", "h*.bias1"},
    {"h.*.attn.c_attn", "h*.Q+h*.K+h*.V", "h*.W_Q+h*.W_K+h*.W_V", "h*.b_Q+h*.b_K+h*.b_V"},
    {"h.*.attn.attn_dropout", "h*.attention_weights"},
    {"h.*.attn.c_proj", "h*.output", "h*.W_O", "h*.b_O"},
    {"h.*.attn.resid_dropout", "h*.output"},
    {"h.*.attn", "h*.output"},
    {"h.*.ln_2", "h*.norm2", "h*.gain2", "h*.bias2"},
    {"h.*.mlp.c_fc", "h*.mlp_in", "h*.W_in", "h*.b_in"},
    {"h.*.mlp.act", "h*.gelu|h*.relu"},
    {"h.*.mlp.gelu", "h*.gelu"},
    {"h.*.mlp.c_proj", "h*.mlp_out", "h*.W_out", "h*.b_out"},
    {"h.*.mlp.dropout", "h*.mlp_out"},
    {"h.*.mlp", "h*.mlp_out"},
    {"h.*", "h*.residual2"},
    {"ln_f", "norm", "gain", "bias"},
    {"lm_head", "logits", "W_logits"},
};

// Source: the modules of Hugging Face's LLaMA, Mistral, Qwen2, Qwen3, Gemma and Gemma 2.
constexpr NameRule llama[] = {
    {"returned", "capped_logits|logits"},
    {"embed_tokens", "token_embeddings", "token_table"},
    {"layers.*.input_layernorm", "h*.norm1", "h*.gain1"},
    {"layers.*.self_attn.q_proj", "h*.Q", "h*.W_Q", "h*.b_Q"},
    {"layers.*.self_attn.k_proj", "h*.K", "h*.W_K", "h*.b_K"},
    {"layers.*.self_attn.v_proj", "h*.V", "h*.W_V", "h*.b_V"},
    {"layers.*.self_attn.qkv_proj", "h*.Q+h*.K+h*.V", "h*.W_Q+h*.W_K+h*.W_V",
     "h*.b_Q+h*.b_K+h*.b_V"},
    {"layers.*.self_attn.q_norm", "h*.Q_norm", "h*.gain_Q"},
    {"layers.*.self_attn.k_norm", "h*.K_norm", "h*.gain_K"},
    {"layers.*.self_attn.o_proj", "h*.output", "h*.W_O", "h*.b_O"},
    {"layers.*.self_attn", "h*.output"},
    {"layers.*.post_attention_layernorm", "h*.norm1_out|h*.norm2", "h*.gain1_out|h*.gain2"},
    {"layers.*.pre_feedforward_layernorm", "h*.norm2", "h*.gain2"},
    {"layers.*.post_feedforward_layernorm", "h*.norm2_out", "h*.gain2_out"},
    {"layers.*.mlp.gate_proj", "h*.gate", "h*.W_gate", "h*.b_gate"},
    {"layers.*.mlp.up_proj", "h*.up", "h*.W_up", "h*.b_up"},
    {"layers.*.mlp.gate_up_proj", "h*.gate+h*.up", "h*.W_gate+h*.W_up", "h*.b_gate+h*.b_up"},
    {"layers.*.mlp.act_fn", "h*.silu|h*.gelu|h*.relu"},
    {"layers.*.mlp.down_proj", "h*.mlp_out", "h*.W_down", "h*.b_down"},
    {"layers.*.mlp", "h*.mlp_out"},
    {"layers.*", "h*.residual2"},
    {"norm", "norm", "gain"},
    {"lm_head", "logits", "W_logits"},
};

struct NameScheme {
  std::string_view name;
  std::string_view title;  // in the report
  std::span<const NameRule> rules;
};

constexpr NameScheme schemes[] = {
    {"transformerlens", "TransformerLens's hooks", transformer_lens},
    {"llama.cpp", "llama.cpp's tensors", llama_cpp},
    {"gpt2", "the modules of GPT-2 (minGPT, nanoGPT, Hugging Face)", gpt2},
    {"llama", "the modules of LLaMA's kind (Hugging Face)", llama},
};

// What the names have in them of arrays whose axes are tokens, heads and columns.
constexpr std::string_view heads_inside_names[] = {".hook_q",     ".hook_k",     ".hook_v",
                                                   ".hook_rot_q", ".hook_rot_k", ".hook_z",
                                                   "Qcur-",       "Kcur-",       "Vcur-"};

// Prefixes of modules that hold a whole model, and of a checkpoint's part that holds its weights.
constexpr std::string_view wrappers[] = {"_orig_mod.", "module.", "model.", "transformer.",
                                         "state_dict."};

// Returns what each * of the pattern stands for, text without a dot, if the name matches.
std::optional<std::vector<std::string>> matched(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (!name.starts_with(pattern.substr(0, star))) return {};
  if (star == pattern.npos) {
    return pattern == name ? std::optional(std::vector<std::string>()) : std::nullopt;
  }
  name.remove_prefix(star);
  for (std::size_t size = std::min(name.find('.'), name.size()) + 1; size-- > 0;) {
    auto stars = matched(pattern.substr(star + 1), name.substr(size));
    if (!stars) continue;
    stars->insert(stars->begin(), std::string(name.substr(0, size)));
    return stars;
  }
  return {};
}

std::string with_layer(std::string_view ours, std::string_view layer) {
  std::string name;
  for (const char c : ours) {
    if (c == '*') name += layer;
    if (c == '<') name += fmt::format("{}", parse_number<std::size_t>(layer).value_or(0) - 1);
    if (c != '*' && c != '<') name += c;
  }
  return name;
}

// How far an array is from a step's numbers, or from those of its last row; the nearest sentence of
// a batch counts, and the nearer order of heads and rows. Infinity if it has its rows in another
// size; NaN if it has other rows (another output of the module), or its numbers are not read.
double distance_from(const Tensor& step, const ParsedArray& array) {
  const std::size_t count = array.cells.size();
  if (count == 0 || step.values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const bool is_whole = count % step.values.size() == 0;
  const Tensor right = is_whole ? step : last_rows(step);
  const std::size_t size = right.values.size();
  if (count % size != 0) {
    const Shape shape = without_leading_ones(array.shape);
    const bool has_rows = shape.size() == 2 && shape.front() == step.rows();
    return has_rows ? infinity : std::numeric_limits<double>::quiet_NaN();
  }
  const Values written = array.cells.values();
  const std::size_t heads = right.matrices(), rows = right.rows(), width = right.columns();
  double nearest = infinity;
  for (std::size_t start = 0; start < count; start += size) {
    const std::vector<double> theirs(written.part(start, size).begin(),
                                     written.part(start, size).end());
    for (const bool are_inside : {false, true}) {
      double farthest = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t row = i / width;
        const std::size_t place = are_inside ? row % rows * heads + row / rows : row;
        const double x = theirs[place * width + i % width], y = right.values[i];
        const double gap = x == y ? 0 : std::abs(x - y);
        farthest = std::max(farthest, std::isnan(gap) ? infinity : gap);
      }
      nearest = std::min(nearest, farthest);
    }
  }
  return nearest;
}

// Returns the nearest of the steps that `~` separates; of equally near ones, the first.
std::string nearest_of(std::string_view part, std::string_view layer, bool is_gradient,
                       const ParsedArray& written, const Trace& trace) {
  std::string found;
  double least = infinity;
  for (const std::string_view one : split(part, '~')) {
    std::string ours = with_layer(one, layer);
    if (is_gradient) ours = gradient_name(ours);
    const Tensor* step = part == one ? nullptr : trace.find(ours);
    const bool has_size = step && written.cells.size() == step->values.size();
    const double apart = has_size ? error_statistics(written.cells.values(), step->values).mean
                         : step   ? distance_from(*step, written)
                                  : infinity;
    if (found.empty() || apart < least) found = ours;
    least = std::min(least, apart);
  }
  return found;
}

// What an array of a program stands for, by a scheme or its own name: nothing if that is unknown,
// several names if they stand side by side. Where the name may mean a step that is not there, it is
// open.
struct Meaning {
  std::vector<std::string> names = {};
  bool is_open = false;
  bool is_own = false;  // the name is a step's
};

Meaning ours_of(const NameScheme& scheme, const NamedArray& array,
                const std::set<std::string, std::less<>>& all, const Trace& trace) {
  std::string_view name = array.name;
  const std::string_view before = name.starts_with("d_")      ? "d_"
                                  : name.starts_with("grad_") ? "grad_"
                                                              : "";
  const std::string_view after = name.ends_with(".grad") ? ".grad" : "";
  const bool is_gradient = !before.empty() || !after.empty();
  const std::size_t size = element_count(array.written.shape, array.name);
  name = name.substr(before.size(), name.size() - before.size() - after.size());
  const auto opens = [&](std::string_view wrapper) { return name.starts_with(wrapper); };
  for (const auto* found = std::ranges::find_if(wrappers, opens); found != std::end(wrappers);
       found = std::ranges::find_if(wrappers, opens))
    name.remove_prefix(found->size());
  const bool is_weight = name.ends_with(".weight"), is_bias = name.ends_with(".bias");
  if (is_weight || is_bias) name = name.substr(0, name.rfind('.'));
  // A dump, unlike a lesson, may lack the step that is meant: then near numbers have to tell.
  bool is_sure = true;
  Meaning open{.is_open = true};
  const auto is_meant = [&](const std::vector<std::string>& names) {
    const Tensor& step = trace.at(names.front());
    return is_sure || !trace.steps.empty() ||
           distance_from(step, array.written) <= 1e-3 * largest_magnitude(step.values);
  };
  for (const NameRule& rule : scheme.rules) {
    const auto stars = matched(rule.theirs, name);
    if (!stars) continue;
    const std::string layer = stars->empty() ? "" : stars->front();
    if (!layer.empty() && !parse_number<std::size_t>(layer)) continue;
    const std::string beside = with_layer(rule.beside, layer);
    if (!beside.empty() && trace.find(beside) == nullptr &&
        !all.contains(fmt::format("{}{}{}", before, beside, after))) {
      is_sure = false;
      continue;
    }
    std::vector<std::string> first;
    const auto choices = split(is_weight ? rule.weight : is_bias ? rule.bias : rule.ours, '|');
    for (const std::string_view choice : choices) {
      std::vector<std::string> names;
      for (const std::string_view part : split(choice, '+')) {
        names.push_back(nearest_of(part, layer, is_gradient, array.written, trace));
      }
      if (!std::ranges::all_of(names,
                               [&](const auto& one) { return trace.find(one) != nullptr; })) {
        is_sure = false;
        continue;
      }
      const bool has_size = trace.at(names.front()).values.size() == size;
      if (!is_meant(names)) {
        if (has_size && choices.size() > 1 && open.names.empty()) open.names = std::move(names);
        continue;
      }
      if (has_size) return {std::move(names)};
      if (first.empty()) first = std::move(names);
    }
    if (!first.empty()) return {std::move(first)};
  }
  return open;
}

// Cuts the last axis of an array, or the last but one, into parts of these sizes.
std::vector<ParsedArray> cut(const ParsedArray& whole, std::size_t axis,
                             const std::vector<std::size_t>& sizes) {
  const std::size_t step = axis + 1 < whole.shape.size() ? whole.shape.back() : 1;
  std::vector<ParsedArray> parts;
  std::size_t from = 0;
  for (const std::size_t size : sizes) {
    ParsedArray& part = parts.emplace_back(ParsedArray{.precision = whole.precision});
    part.shape = whole.shape;
    part.shape[axis] = size;
    if (!whole.cells.empty()) {
      const std::size_t lines = whole.cells.size() / (whole.shape[axis] * step);
      part.cells = whole.cells.runs(lines, size * step, [&](std::size_t line) {
        return (line * whole.shape[axis] + from) * step;
      });
    }
    from += size;
  }
  return parts;
}

// Cuts an array that holds several steps side by side: along its last axis, or along its first if
// it is a weight as PyTorch stores it, out × in, and a square one is: in × out is wider than high.
// Empty if its size is not the sum of theirs.
std::vector<ParsedArray> cut_into(const std::vector<std::string>& names, const Trace& trace,
                                  const ParsedArray& whole) {
  const auto sizes = mapped(names, [&](const std::string& name) {
    return trace.at(name).matrices() * trace.at(name).columns();  // of all heads side by side
  });
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  if (whole.shape.empty()) return {};
  const bool is_out_in = whole.shape.size() == 2 && whole.shape.front() == total;
  if (is_out_in && is_of_given(names.front(), trace)) return cut(whole, 0, sizes);
  if (whole.shape.back() == total) return cut(whole, whole.shape.size() - 1, sizes);
  return is_out_in ? cut(whole, 0, sizes) : std::vector<ParsedArray>();
}

// An array under a name of ours, and what it is called if another one is taken.
struct NamedPart {
  NamedArray array;
  std::string otherwise;
};

// Returns an array under its names: one part for each. What cannot be cut is a wrong step.
std::vector<NamedPart> parts_of(NamedArray array, const std::vector<std::string>& ours,
                                const Trace& trace) {
  std::string_view name = array.name;
  if (name.ends_with(".grad")) name.remove_suffix(5);
  array.written.heads_inside |= std::ranges::any_of(
      heads_inside_names, [&](std::string_view part) { return name.find(part) != name.npos; });
  std::vector<NamedPart> parts;
  if (ours.size() > 1) {
    for (ParsedArray& part : cut_into(ours, trace, array.written)) {
      const std::string& own = ours[parts.size()];
      parts.push_back({{own, std::move(part)}, fmt::format("{}: {}", array.name, own)});
    }
  }
  if (!parts.empty()) return parts;
  const auto distance = [&](const std::string& one) {
    return distance_from(trace.at(one), array.written);
  };
  const std::string own = *std::ranges::max_element(ours, {}, distance);
  const std::string_view another = own == array.name ? "another " : "";
  parts.push_back({{own, std::move(array.written)}, fmt::format("{}{}", another, array.name)});
  return parts;
}

// True if two arrays have the same numbers, or are equally far from the right ones: one of them has
// its heads elsewhere.
bool have_same_numbers(const ParsedArray& one, const ParsedArray& other, const Tensor& right) {
  if (one.cells.empty() || one.cells.size() != other.cells.size()) return false;
  if (difference_of(one.cells.values(), other.cells.values(), {}).identical) return true;
  const double distance = distance_from(right, one);
  return std::isfinite(distance) && distance == distance_from(right, other);
}

// Renames the arrays, and cuts those that stand for several steps. Of several arrays of one step
// (a module's and that of its last part, or one with our name) the farthest from its numbers is
// taken, so that a wrong one is found; the others stay, if they differ. One without a distance is
// taken only if no other has one, and then the first; one whose name is open, if there is no other.
void rename(const std::vector<Meaning>& meanings, const Trace& trace,
            std::vector<NamedArray>& arrays) {
  std::map<std::string, std::pair<std::size_t, std::string>> taken;  // in `named`; its other name
  std::vector<std::pair<std::size_t, const std::string*>> open;      // in `named`; the step
  std::vector<NamedArray> named;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (meanings[a].names.empty() || meanings[a].is_open) {
      if (meanings[a].is_open) open.emplace_back(named.size(), &meanings[a].names.front());
      named.push_back(std::move(arrays[a]));
      continue;
    }
    for (auto& [array, otherwise] : parts_of(std::move(arrays[a]), meanings[a].names, trace)) {
      const auto [found, is_free] = taken.try_emplace(array.name, named.size(), otherwise);
      if (!is_free) {
        auto& [place, other_name] = found->second;
        const Tensor& right = trace.at(array.name);
        ParsedArray& before = named[place].written;
        if (have_same_numbers(before, array.written, right)) continue;
        const double apart = distance_from(right, array.written);
        const double apart_before = distance_from(right, before);
        if (apart > apart_before || (std::isnan(apart_before) && !std::isnan(apart))) {
          std::swap(before, array.written);
          std::swap(other_name, otherwise);
        }
        array.name = otherwise;
      }
      named.push_back(std::move(array));
    }
  }
  for (const auto& [place, step] : open) {
    if (!taken.try_emplace(*step).second) continue;
    named[place].open_name = std::exchange(named[place].name, *step);
  }
  arrays = std::move(named);
}

}  // namespace

std::optional<MappedName> mapped_name(const std::vector<NameMap>& maps, std::string_view name) {
  for (std::size_t m = 0; m < maps.size(); ++m) {
    const auto stars = matched(maps[m].theirs, name);
    if (!stars) continue;
    const std::vector<std::string_view> parts = split(maps[m].ours, '*');
    std::string ours(parts.front());
    for (std::size_t k = 1; k < parts.size(); ++k)
      ours += fmt::format("{}{}", stars->at(k - 1), parts[k]);
    return MappedName{m, std::move(ours)};
  }
  return {};
}

std::vector<std::string> scheme_names() { return mapped<std::string>(schemes, &NameScheme::name); }

std::vector<std::string> steps_by_scheme(std::string_view name, const Trace& trace) {
  for (const NameScheme& scheme : schemes) {
    auto ours = ours_of(scheme, {.name = std::string(name), .written = {}}, {}, trace).names;
    if (!ours.empty()) return ours;
  }
  return {};
}

std::string adopt_scheme(const std::optional<std::string>& wanted, const Trace& trace,
                         const std::function<bool(std::string_view)>& is_mapped,
                         std::vector<NamedArray>& arrays) {
  const NameScheme* best =
      wanted ? std::ranges::find(schemes, *wanted, &NameScheme::name) : nullptr;
  std::set<std::string, std::less<>> all;
  for (const NamedArray& array : arrays) all.insert(array.name);
  const auto meanings_by = [&](const NameScheme& scheme) {
    return mapped(arrays, [&](const NamedArray& array) {
      if (is_mapped(array.name)) return Meaning();
      const bool is_own = trace.find(array.name) != nullptr;
      Meaning ours =
          is_own ? Meaning{{array.name}, false, true} : ours_of(scheme, array, all, trace);
      const bool is_free = std::ranges::none_of(ours.names, [&](const std::string& name) {
        return all.contains(name) && is_mapped(name);  // another array's, until it is mapped
      });
      return is_free && !ours.names.empty() ? std::move(ours) : Meaning();
    });
  };
  const auto explained = [](const std::vector<Meaning>& meanings) {
    const auto is_theirs = [](const Meaning& one) { return !one.names.empty() && !one.is_own; };
    return std::ranges::count_if(meanings, is_theirs);
  };
  auto meanings = best != nullptr ? meanings_by(*best) : std::vector<Meaning>();
  for (const NameScheme& scheme : schemes) {
    auto other = wanted ? std::vector<Meaning>() : meanings_by(scheme);
    if (explained(other) > explained(meanings)) best = &scheme, meanings = std::move(other);
  }
  if (wanted && explained(meanings) == 0) {
    throw InputError("--names {}: no array has a name of {}", *wanted, best->title);
  }
  if (best == nullptr) return {};
  const auto is_not_ours = [&](const NamedArray& array) {
    const NameRule* rule = find_by(best->rules, array.name, &NameRule::theirs);
    return rule && rule->ours.empty() && all.contains(rule->beside) && !is_mapped(array.name);
  };
  const bool are_all_theirs = std::ranges::none_of(arrays, [&](const NamedArray& array) {
    return trace.find(array.name) != nullptr && !is_not_ours(array);
  });
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (!are_all_theirs || !is_not_ours(arrays[a])) continue;
    arrays[a].name += fmt::format(" of {}", best->name);
    meanings[a] = {};
  }
  rename(meanings, trace, arrays);
  return fmt::format("{}: names of {}", best->name, best->title);
}

}  // namespace qkv::inline check
