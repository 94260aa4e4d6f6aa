#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/tokens.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view methods[] = {"words", "characters"};
constexpr OptionRule tokenise_options[] = {
    {.name = "method", .says = "what a token is", .list = methods},
    {.name = "lowercase", .says = "whether capitals are made small first", .flag = true},
    {.name = "pad",
     .says = "the token or the id that fills up the shorter texts of a batch",
     .words = OptionRule::Words::any,
     .numbers = OptionRule::Numbers::whole},
};

using Tokens = std::vector<std::string>;

std::vector<Tokens> tokens_of(const Call& call) {
  std::vector<Tokens> sentences;
  for (const std::string& text : call.environment->texts) {
    const std::string read = call.options->flag("lowercase", false) ? lowercase(text) : text;
    sentences.push_back(call.options->word("method", "words") == "characters" ? characters_of(read)
                                                                              : words_of(read));
    if (sentences.back().empty()) {
      throw InputError(
          fmt::format("{}: the text is empty; give it at least one word", call.step));
    }
  }
  if (sentences.empty()) {
    throw InputError(fmt::format(
        "{}: there is no text to tokenise; write text = \"the fat cat\" at the top of the lesson",
        call.step));
  }
  return sentences;
}

// The token that fills up a row, as its label.
std::string pad_label(const Call& call) {
  const OptionValue* pad = call.options->find("pad");
  const bool is_word = pad && std::holds_alternative<std::string>(*pad);
  return is_word ? std::get<std::string>(*pad) : "<pad>";
}

bool are_ragged(const std::vector<Tokens>& sentences) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const Tokens& tokens) {
    return tokens.size() != sentences.front().size();
  });
}

// The lesson's vocabulary, or the distinct tokens in order of appearance and the padding last.
Tokens vocabulary_of(const Call& call, const std::vector<Tokens>& sentences) {
  if (!call.environment->vocabulary.empty()) return call.environment->vocabulary;
  Tokens vocabulary;
  const auto meet = [&](const std::string& token) {
    if (std::find(vocabulary.begin(), vocabulary.end(), token) == vocabulary.end()) {
      vocabulary.push_back(token);
    }
  };
  for (const Tokens& tokens : sentences) std::for_each(tokens.begin(), tokens.end(), meet);
  if (are_ragged(sentences)) meet(pad_label(call));
  return vocabulary;
}

double id_of(const std::string& token, const Tokens& vocabulary, const Call& call) {
  const auto found = std::find(vocabulary.begin(), vocabulary.end(), token);
  if (found != vocabulary.end()) return static_cast<double>(found - vocabulary.begin());
  constexpr std::size_t shown = 12;
  const std::size_t count = std::min(shown, vocabulary.size());
  throw InputError(fmt::format("{}: \"{}\" is not in the vocabulary ({}{}); add it there or change "
                               "the text",
                               call.step, token,
                               fmt::join(vocabulary.begin(),
                                         vocabulary.begin() + static_cast<std::ptrdiff_t>(count),
                                         ", "),
                               count < vocabulary.size() ? ", …" : ""));
}

double pad_id(const Tokens& vocabulary, const Call& call) {
  const OptionValue* pad = call.options->find("pad");
  if (pad && std::holds_alternative<double>(*pad)) return std::get<double>(*pad);
  return id_of(pad_label(call), vocabulary, call);
}

struct Tokenise {
  static Form form(const Call&) { return {{}, "1 token", "the text, cut into tokens"}; }

  // The rule of an id is its place in the vocabulary: there is no arithmetic to show.
  template <class N>
  static N cell(const Cell<N>& c) {
    return ids_of(*c.call).values[c.row * c.output->columns() + c.column];
  }

  static Tensor ids_of(const Call& call) {
    const std::vector<Tokens> sentences = tokens_of(call);
    const Tokens vocabulary = vocabulary_of(call, sentences);
    std::size_t longest = 0;
    for (const Tokens& tokens : sentences) longest = std::max(longest, tokens.size());
    const double pad = are_ragged(sentences) ? pad_id(vocabulary, call) : 0;
    std::vector<double> ids;
    std::vector<std::string> labels;
    for (const Tokens& tokens : sentences) {
      for (std::size_t i = 0; i < longest; ++i) {
        const bool there = i < tokens.size();
        ids.push_back(there ? id_of(tokens[i], vocabulary, call) : pad);
        labels.push_back(there ? tokens[i] : pad_label(call));
      }
    }
    Axis token{.name = "token", .size = longest, .labels = std::move(labels)};
    if (!call.environment->batch) return {.axes = {std::move(token)}, .values = std::move(ids)};
    return {.axes = {Axis{.name = "batch", .size = sentences.size()}, std::move(token)},
            .values = std::move(ids)};
  }
};

}  // namespace

constinit const Operation tokenise_operation{
    .name = "tokenise",
    .title = "Cut the text into tokens",
    .says = "The text is cut into tokens, and each token gets a number, its id: the place it has in "
            "the vocabulary, counted from 0.",
    .notice = "The same token has the same id wherever it stands.",
    .fewest = 0,
    .most = 0,
    .options = tokenise_options,
    .form = Tokenise::form,
    .compute = Tokenise::ids_of,
    .cell = readings_of<Tokenise>(),
};

}  // namespace qkv
