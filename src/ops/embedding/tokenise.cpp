#include "ops/kinds/gradient.hpp"
#include "text/strings.hpp"
#include "tokens/tokens.hpp"

namespace qkv::inline ops {
namespace {

constexpr std::string_view methods[] = {"words", "characters", "bpe"};
constexpr OptionRule tokenise_options[] = {
    {.name = "method", .help = "what a token is", .list = methods},
    {.name = "lowercase", .help = "whether capitals are made small first", .flag = true},
    {.name = "blanks",
     .help = "whether a blank is a character of its own, for method = \"characters\"; true if not "
             "written",
     .flag = true},
    {.name = "pad",
     .help = "the token or the id that fills up the shorter texts of a batch",
     .any_word = true,
     .numbers = OptionRule::Numbers::whole},
    {.name = "vocab", .help = "bpe's vocab.json", .any_word = true, .file = true},
    {.name = "merges", .help = "bpe's merges.txt", .any_word = true, .file = true},
    {.name = "tokenizer",
     .help = "bpe's tokenizer.json, in place of vocab and merges",
     .any_word = true,
     .file = true},
};

using Tokens = std::vector<std::string>;

std::shared_ptr<const BytePairEncoder> encoder_of(const Call& call) {
  const Options& options = *call.options;
  if (options.has("tokenizer")) return byte_pair_encoder(options.contents("tokenizer"));
  if (options.has("vocab") && options.has("merges")) {
    return byte_pair_encoder(options.contents("vocab"), options.contents("merges"));
  }
  refuse(call,
         "bpe needs its files: vocab = \"vocab.json\" and merges = \"merges.txt\", or tokenizer = "
         "\"tokenizer.json\"");
}

std::string text_to_read(const Call& call, const std::string& text) {
  return call.options->flag("lowercase", false) ? lowercase(text) : text;
}

void refuse_empty(bool is_empty, const Call& call) {
  if (is_empty) refuse(call, "the text is empty; give it at least one word");
}

std::vector<Tokens> tokens_of(const Call& call) {
  std::vector<Tokens> sentences;
  for (const std::string& text : call.environment->texts) {
    const std::string read = composed(text_to_read(call, text));
    const bool by_character = call.options->word("method", "words") == "characters";
    sentences.push_back(by_character ? characters_of(read) : words_of(read));
    if (by_character && !call.options->flag("blanks", true)) {
      std::erase_if(sentences.back(), [](const std::string& c) { return trimmed(c).empty(); });
    }
    refuse_empty(sentences.back().empty(), call);
  }
  return sentences;
}

std::string pad_label(const Call& call) {
  const bool is_number = call.options->if_number("pad") != nullptr;
  return is_number ? "<pad>" : composed(call.options->word("pad", "<pad>"));
}

bool are_ragged(const std::vector<Tokens>& sentences) {
  return std::ranges::any_of(
      sentences, [&](const Tokens& tokens) { return tokens.size() != sentences.front().size(); });
}

// The lesson's vocabulary, or the distinct tokens in order of appearance and the padding last. A
// token's id is its place; that of a repeated one is its first.
NameIndex vocabulary_of(const Call& call, const std::vector<Tokens>& sentences) {
  NameIndex vocabulary;
  for (const std::string& token : call.environment->vocabulary) vocabulary.add(composed(token));
  if (!vocabulary.all().empty()) return vocabulary;
  const auto meet = [&](const std::string& token) {
    if (!vocabulary.contains(token)) vocabulary.add(token);
  };
  for (const Tokens& tokens : sentences) std::for_each(tokens.begin(), tokens.end(), meet);
  if (are_ragged(sentences)) meet(pad_label(call));
  return vocabulary;
}

double id_of(const std::string& token, const NameIndex& known, const Call& call) {
  if (const auto id = known.place(token)) return static_cast<double>(*id);
  const Tokens& vocabulary = known.all();
  constexpr std::size_t shown = 24;
  const std::size_t count = std::min(shown, vocabulary.size());
  const std::string near = suggest(token, vocabulary);
  refuse(call, fmt::format(
                   "\"{0}\" is not in the vocabulary ({1}{2}); {3}write the text in these words. A "
                   "lesson file of your own may have more (vocabulary = […]); for a model they are "
                   "given with --vocabulary",
                   token, fmt::join(std::span(vocabulary).first(count), ", "),
                   count < vocabulary.size() ? ", …" : "",
                   near.empty() ? "" : fmt::format("did you mean \"{}\"? Else ", near)));
}

double pad_id(const NameIndex& vocabulary, const Call& call) {
  if (const double* pad = call.options->if_number("pad")) return *pad;
  return id_of(pad_label(call), vocabulary, call);
}

// A sentence's tokens with their ids, and the id of the padding.
struct Sentence {
  Tokens tokens;
  std::vector<double> ids;
  double pad = 0;
};

std::vector<Sentence> looked_up(const Call& call) {
  const std::vector<Tokens> cut = tokens_of(call);
  const NameIndex vocabulary = vocabulary_of(call, cut);
  const double pad = are_ragged(cut) ? pad_id(vocabulary, call) : 0;
  const auto id = [&](const std::string& token) { return id_of(token, vocabulary, call); };
  return mapped(cut, [&](const Tokens& tokens) {
    return Sentence{tokens, mapped(tokens, id), pad};
  });
}

std::vector<Sentence> encoded(const Call& call) {
  const std::shared_ptr<const BytePairEncoder> encoder = encoder_of(call);
  std::vector<Sentence> sentences;
  for (const std::string& text : call.environment->texts) {
    Sentence sentence;
    for (BpeToken& token : encoder->encode(text_to_read(call, text))) {
      sentence.tokens.push_back(std::move(token.text));
      sentence.ids.push_back(token.id);
    }
    refuse_empty(sentence.ids.empty(), call);
    sentence.pad = call.options->find("pad") ? pad_id({}, call) : 0;
    sentences.push_back(std::move(sentence));
  }
  if (!call.options->has("pad") && are_ragged(mapped(sentences, &Sentence::tokens))) {
    refuse(call,
           "the texts have different lengths; say what fills up the shorter ones: pad = 50256");
  }
  return sentences;
}

std::vector<Sentence> sentences_of(const Call& call) {
  if (const auto& cut = call.environment->cut) {
    return {{.tokens = cut->words, .ids = cut->ids, .pad = 0}};
  }
  if (call.environment->texts.empty()) {
    refuse(call,
           "there is no text to tokenise; write text = \"the fat cat\" at the top of the lesson");
  }
  return call.options->word("method", "words") == "bpe" ? encoded(call) : looked_up(call);
}

struct Tokenise {
  static constexpr std::string_view code = "# {y}: from a tokenizer, which has no formula";

  static Form form(const Call& call) {
    // A model may have continued a text.
    const bool is_cut = call.environment->cut && call.environment->texts.empty();
    return {{}, "1 token", is_cut ? "the ids, as they were given" : "the text, cut into tokens"};
  }

  // An id is a token's place in the vocabulary: there is no arithmetic to show.
  template <class N>
  static N cell(const Cell<N>& c) {
    return compute(*c.call).values[c.row * c.output->columns() + c.column];
  }

  static Tensor compute(const Call& call) {
    const std::vector<Sentence> sentences = sentences_of(call);
    std::size_t longest = 0;
    for (const Sentence& sentence : sentences) longest = std::max(longest, sentence.ids.size());
    std::vector<double> ids;
    std::vector<std::string> labels;
    for (const Sentence& sentence : sentences) {
      for (std::size_t i = 0; i < longest; ++i) {
        const bool there = i < sentence.ids.size();
        ids.push_back(there ? sentence.ids[i] : sentence.pad);
        labels.push_back(there ? sentence.tokens[i] : pad_label(call));
      }
    }
    Axis token{.name = "token", .size = longest, .labels = mapped(labels, composed)};
    if (!call.environment->batch) return {.axes = {std::move(token)}, .values = ids};
    return {.axes = {Axis{.name = "batch", .size = sentences.size()}, std::move(token)},
            .values = ids};
  }
};

constexpr Mistake tokenise_mistakes[] = {
    {"tokens.from-one", "The ids were counted from 1.", "Ids count from 0.",
     [](const StepView& step) {
       return Versions{with_numbers(*step.tensor, step.tensor->array() + 1.0)};
     }},
};

}  // namespace

constinit const Operation tokenise_operation = operation_of<Tokenise>({
    .name = "tokenise",
    .title = "Cut the text into tokens",
    .says = "The text is cut into tokens. Each token gets a number, its id: its place in the "
            "vocabulary, counted from 0.",
    .notice = "The same token has the same id wherever it stands.",
    .min_operands = 0,
    .max_operands = 0,
    .options = tokenise_options,
    .mistakes = tokenise_mistakes,
    .backward = backward_by<NoGradient>,
});

}  // namespace qkv::inline ops
