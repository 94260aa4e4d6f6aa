#include "lesson/random_table.hpp"

#include <fmt/format.h>

#include "text/error.hpp"

namespace qkv {

void read_random(const toml::table& document, GivenContext& context, TomlReader& reader) {
  const toml::node* node = document.get("random");
  if (!node) return;
  const toml::table* random = node->as_table();
  if (!random) {
    reader.fault(*node, "write [random] with generator and seed below it");
    return;
  }
  constexpr std::string_view keys[] = {"generator", "seed"};
  reader.refuse_unknown_keys(*random, keys, "[random]");
  const std::string generator = reader.text(*random, "generator").value_or("numpy");
  if (generator != "numpy" && generator != "torch") {
    reader.fault(*random->get("generator"),
                 fmt::format("generator is \"numpy\" or \"torch\", not \"{}\"", generator));
    return;
  }
  const std::int64_t seed = reader.whole(*random, "seed").value_or(0);
  try {
    if (seed < 0) throw InputError("seed must not be negative");
    context.generator = generator == "torch" ? Generator::torch : Generator::numpy;
    context.stream.emplace(*context.generator, static_cast<std::uint64_t>(seed));
  } catch (const InputError& error) {
    reader.fault(random->contains("seed") ? *random->get("seed") : *node, error.what());
    context.generator.reset();
  }
}

}  // namespace qkv
