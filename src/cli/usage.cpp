#include "cli/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command.hpp"

namespace qkv {
namespace {

// What stands for a value, by the name of the option, the argument or the value.
struct Known {
  std::string_view name;
  Offer offer;
};
constexpr Known known[] = {
    {"--step", Offer::steps},        {"--from", Offer::steps},        {"--to", Offer::steps},
    {"CELL", Offer::cells},          {"LESSON", Offer::lessons},      {"FILE", Offer::files},
    {"A", Offer::lessons_and_files}, {"B", Offer::lessons_and_files}, {"PATH", Offer::files},
    {"DIR", Offer::directories},
};

Offer offer_for(std::string_view name) {
  for (const Known& one : known) {
    if (one.name == name) return one.offer;
  }
  return Offer::nothing;
}

// The words that an option lets in, as it tells them to somebody who gives another: "…; there are
// csv, npy".
std::vector<std::string> choices_of(CLI::Option& option) {
  std::string wrong = "?";
  std::string refusal;
  try {
    refusal = (*option.get_validator())(wrong);
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  constexpr std::string_view listing = "there are ";
  const std::size_t list = refusal.find(listing);
  if (list == std::string::npos) return {};
  std::vector<std::string> choices = CLI::detail::split(refusal.substr(list + listing.size()), ',');
  for (std::string& choice : choices) CLI::detail::trim(choice);
  return choices;
}

OptionUsage usage_of(CLI::Option& option) {
  OptionUsage usage;
  for (const std::string& name : option.get_snames()) usage.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) usage.names.push_back("--" + name);
  usage.is_argument = option.get_positional();
  if (usage.is_argument) usage.names = {option.get_name(true)};
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) usage.value = usage.is_argument ? usage.names.front() : option.get_type_name();
  usage.says = option.get_description();
  usage.required = option.get_required();
  usage.repeats = option.get_items_expected_max() > 1;
  if (!takes_value) return usage;
  usage.choices = choices_of(option);
  usage.offer = offer_for(long_name(usage));
  if (usage.offer == Offer::nothing) usage.offer = offer_for(usage.value);
  if (!usage.choices.empty()) usage.offer = Offer::choices;
  return usage;
}

// The arguments, then the options. --help is everywhere, so that only qkv itself names it.
std::vector<OptionUsage> options_of(CLI::App& app) {
  std::vector<OptionUsage> options;
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    if (option == app.get_help_ptr() && app.get_parent()) continue;
    options.push_back(usage_of(*option));
  }
  std::stable_partition(options.begin(), options.end(),
                        [](const OptionUsage& option) { return option.is_argument; });
  return options;
}

}  // namespace

std::string_view long_name(const OptionUsage& option) { return option.names.back(); }

std::string_view says_shortly(const OptionUsage& option) {
  return std::string_view(option.says).substr(0, option.says.find('\n'));
}

std::vector<CommandUsage> usage_of(CLI::App& root, std::span<const Command* const> commands) {
  std::vector<CommandUsage> all = {{"", "", "", options_of(root)}};
  for (const Command* command : commands) {
    CLI::App* app = root.get_subcommand(std::string(command->name));
    all.push_back({std::string(command->name), std::string(command->summary),
                   std::string(command->examples), options_of(*app)});
  }
  return all;
}

}  // namespace qkv
