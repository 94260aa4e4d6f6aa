#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/weights.hpp"

namespace qkv {

struct Fact {
  std::string text;
  std::string where;  ///< the file that says so, as messages name it
};

/// What is said of a model beside its tensors: "n_head" → "12". From the file's metadata, and from
/// a config.json beside it.
using Facts = std::map<std::string, Fact, std::less<>>;

/// The facts of the model in `file`: its metadata, else what stands in config.json beside it.
Facts facts_of(const Weights& weights, const std::filesystem::path& file);

/// A whole number above 0; nothing where no such fact is there. Throws InputError where it says
/// something else.
std::optional<std::size_t> whole_fact(const Facts& facts, std::string_view name);

/// A number above 0, or `otherwise` where no such fact is there. Throws InputError as above.
double positive_fact(const Facts& facts, std::string_view name, double otherwise);

/// Throws InputError: what the fact says can't be, and why.
[[noreturn]] void refuse_fact(const Facts::value_type& fact, std::string_view why);

}  // namespace qkv
