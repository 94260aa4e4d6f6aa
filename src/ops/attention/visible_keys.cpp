#include "ops/cell.hpp"

namespace qkv::inline ops {
namespace {

struct KindName {
  std::string_view name;
  MaskPattern::Kind kind;
};

constexpr KindName kind_names[] = {
    {"causal", MaskPattern::Kind::causal},
    {"sliding_window", MaskPattern::Kind::sliding_window},
    {"prefix", MaskPattern::Kind::prefix},
};

std::size_t needed(const Call& call, std::string_view name, double least, std::string_view kind) {
  const double* number = call.options->if_number(name);
  if (!number) refuse(call, fmt::format("kind = \"{}\" needs {} = …", kind, name));
  if (*number < least || *number > 1e9) {
    refuse(call, fmt::format("{} counts keys: from {} up, not {}", name, least, *number));
  }
  return static_cast<std::size_t>(*number);
}

}  // namespace

std::size_t first_query(const Call& call) {
  const Tensor& scores = *call.inputs[0];
  const bool at_end = call.options->word("align", "end") == "end";
  return at_end && scores.columns() > scores.rows() ? scores.columns() - scores.rows() : 0;
}

Indices MaskPattern::operator()(std::size_t query) const {
  const std::size_t own = query + first;
  const std::size_t before = kind == Kind::sliding_window ? own + 1 - std::min(width, own + 1) : 0;
  std::size_t to = own + 1;
  if (both) to = own + width;
  if (kind == Kind::prefix) to = std::max(to, prefix);
  return {std::min(before, keys), std::min(to, keys)};
}

bool is_positional_mask(std::string_view kind) {
  return std::ranges::find(kind_names, kind, &KindName::name) != std::end(kind_names);
}

MaskPattern mask_pattern_of(const Call& call, std::string_view kind) {
  MaskPattern seen{.kind = std::ranges::find(kind_names, kind, &KindName::name)->kind,
                   .first = first_query(call),
                   .keys = call.inputs[0]->columns()};
  if (seen.kind == MaskPattern::Kind::sliding_window) {
    seen.width = needed(call, "width", 1, kind);
    seen.both = call.options->flag("both", false);
  }
  if (seen.kind == MaskPattern::Kind::prefix) seen.prefix = needed(call, "prefix", 0, kind);
  return seen;
}

}  // namespace qkv::inline ops
