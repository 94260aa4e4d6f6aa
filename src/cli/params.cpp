#include "cli/options.hpp"
#include "terminal/model_views.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

struct ParamsOptions {
  StackSizes sizes;  ///< 0: not given
  std::vector<std::uint64_t> contexts;
  bool json = false;
};

// If only the model's width is given, the heads divide it equally, as in most models.
StackSizes whole_sizes(const ParamsOptions& options) {
  StackSizes sizes = options.sizes;
  if (sizes.d_k == 0) {
    if (sizes.d_model % sizes.heads != 0) {
      throw InputError(
          "a d_model of {} can't be divided among {} heads; write the width of a query: --d-k {}",
          group_digits(sizes.d_model), group_digits(sizes.heads),
          std::max<std::uint64_t>(1, sizes.d_model / sizes.heads));
    }
    sizes.d_k = sizes.d_model / sizes.heads;
  }
  if (sizes.d_v == 0) sizes.d_v = sizes.d_k;
  return sizes;
}

int run(const ParamsOptions& options, const CommonOptions&) {
  const StackSizes sizes = whole_sizes(options);
  const StackCount count = parameters_of(sizes);
  const auto patterns =
      mapped(options.contexts.empty() ? standard_contexts() : options.contexts,
             [&](std::uint64_t context) { return attention_cells(context, sizes); });
  print(options.json ? params_json(count, patterns) : params_text(count, patterns));
  return 0;
}

// CLI11's own numbers wrap around: -5 would be 18446744073709551611.
std::uint64_t size_in(const std::string& text, const std::string& option) {
  const auto size = parse_number<std::uint64_t>(text);
  if (size && *size > 0) return *size;
  throw InputError("{} is a whole number from 1 to {}, not \"{}\"", option,
                   group_digits(std::numeric_limits<std::uint64_t>::max()), sanitise(text));
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& size,
                      const std::string& help) {
  const auto read = [&size, name](const std::string& text) { size = size_in(text, name); };
  return app.add_option_function<std::string>(name, read, help)->type_name("N");
}

void declare(CLI::App& app, ParamsOptions& options) {
  StackSizes& sizes = options.sizes;
  add_size(app, "--d-model", sizes.d_model, "Width of an embedding")->required();
  add_size(app, "--d-k", sizes.d_k, "Width of a query and a key (d_model / heads)");
  add_size(app, "--d-v", sizes.d_v, "Width of a value (d_k)");
  add_size(app, "--heads", sizes.heads, "Heads in a layer (1)");
  add_size(app, "--layers", sizes.layers, "Layers, each with a block of attention (1)");
  const auto read_contexts = [&options](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) options.contexts.push_back(size_in(text, "--context"));
  };
  app.add_option_function<std::vector<std::string>>(
         "--context", read_contexts, "Tokens; may be given several times (1024, 2048, … 1048576)")
      ->type_name("N")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "As JSON, for programs");
}

}  // namespace

constinit const Command params_command{
    .name = "params",
    .summary = "how many parameters attention has, and how much memory its attention weights take",
    .examples =
        "  qkv params --d-model 12288 --d-k 128 --heads 96 --layers 96\n"
        "  qkv params --d-model 768 --heads 12 --layers 12 --context 1024\n"
        "  qkv params --d-model 512 --heads 8 --context 512 --context 4096 --json\n",
    .setup = set_up_command<ParamsOptions, declare, run>,
};

}  // namespace qkv::inline cli
