#include "tokens/tokens.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "text/strings.hpp"

namespace tokens_bpe_tests {

using Words = std::vector<std::string_view>;

namespace {

// Bytes are letters, but for the blank, which is Ġ; 👍 is ð Ł ĳ į.
constexpr std::string_view vocab = R"({"a": 0, "b": 1, "c": 2, "Ġ": 3, "<": 4, ">": 5, "ab": 6,
  "abc": 7, "Ġa": 8, "aa": 9, "x": 10, "ð": 20, "Ł": 21, "ĳ": 22, "į": 23, "ðŁ": 24})";
constexpr std::string_view merges = "#version: 0.2\r\na b\r\nab c\r\nĠ a\r\na a\r\nb c\r\nð Ł\r\n";

std::string tokenizer(const std::string& changed = "", const std::string& added = "",
                      const std::string& blank_first = "false") {
  return R"({"added_tokens": [)" + added +
         R"(], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": )" + blank_first +
         R"(}, "model": {"type": "BPE", "vocab": )" + std::string(vocab) +
         R"(, "merges": ["a b", ["ab", "c"], "Ġ a", ["ð", "Ł"]]})" + changed + "}";
}

std::vector<double> ids(const qkv::BytePairEncoder& encoder, std::string_view text) {
  std::vector<double> all;
  for (const qkv::BpeToken& token : encoder.encode(text)) all.push_back(token.id);
  return all;
}

std::vector<std::string> texts(const qkv::BytePairEncoder& encoder, std::string_view text) {
  std::vector<std::string> all;
  for (const qkv::BpeToken& token : encoder.encode(text)) all.push_back(token.text);
  return all;
}

std::string refusal_of(const std::string& tokenizer_json) {
  try {
    qkv::BytePairEncoder{qkv::bpe_files(tokenizer_json)};
    return "";
  } catch (const qkv::InputError& error) {
    return error.what();
  }
}

const std::string only =
    "; qkv reads byte-pair encodings: of bytes, cut as GPT-2, Llama 3 and Qwen cut, and "
    "SentencePiece's, of characters";

}  // namespace

TEST_CASE("GPT-2's pattern keeps a blank with the word after it, and contractions apart") {
  CHECK(qkv::gpt2_pattern().pieces("it's  3 cats!") == Words{"it", "'s", " ", " 3", " cats", "!"});
  CHECK(qkv::gpt2_pattern().pieces("IT'S we'll'") == Words{"IT", "'", "S", " we", "'ll", "'"});
  CHECK(qkv::gpt2_pattern().pieces("a\n\n b \n") == Words{"a", "\n\n", " b", " \n"});
  CHECK(qkv::gpt2_pattern().pieces("x²½Ⅷ१ हि") == Words{"x", "²½Ⅷ१", " ह", "ि"});
}

TEST_CASE("a blank is Unicode's White_Space: a next line is one, a unit separator is a mark") {
  CHECK(qkv::gpt2_pattern().pieces("a\u0085b") == Words{"a", "\u0085", "b"});
  CHECK(qkv::gpt2_pattern().pieces("a\u0085\u0085b") == Words{"a", "\u0085", "\u0085", "b"});
  CHECK(qkv::gpt2_pattern().pieces("a \x1f!") == Words{"a", " \x1f!"});
  CHECK(qkv::gpt2_pattern().pieces("a \ufeff!") == Words{"a", " \ufeff!"});
}

TEST_CASE("the pair that stands first in the merges is joined first, from the left") {
  const qkv::BytePairEncoder encoder(qkv::bpe_files(vocab, merges));
  CHECK(ids(encoder, "abc") == std::vector<double>{7});  // a b, ab c; never b c
  CHECK(ids(encoder, "aab") == std::vector<double>{0, 6});
  CHECK(ids(encoder, "aaa") == std::vector<double>{9, 0});
  CHECK(ids(encoder, " a b") == std::vector<double>{8, 3, 1});
  CHECK(ids(encoder, " ab") == std::vector<double>{3, 6});  // a b comes before Ġ a
}

TEST_CASE("a character that is cut in two is written as its bytes") {
  const qkv::BytePairEncoder encoder(qkv::bpe_files(vocab, merges));
  CHECK(ids(encoder, "👍") == std::vector<double>{24, 22, 23});
  CHECK(texts(encoder, "a👍") == std::vector<std::string>{"a", "<0xF0><0x9F>", "<0x91>", "<0x8D>"});
}

TEST_CASE("what the vocabulary lacks is refused by name") {
  CHECK_THROWS_WITH(qkv::BytePairEncoder(qkv::bpe_files(vocab, merges)).encode("ad"),
                    "the vocabulary has no \"d\", which the text needs");
  CHECK_THROWS_WITH(qkv::BytePairEncoder(qkv::bpe_files(vocab, merges)).encode("bc"),
                    "the vocabulary has no \"bc\", which the text needs");
}

TEST_CASE("a tokenizer.json holds the same, its merges as text or as pairs") {
  const qkv::BytePairEncoder encoder(qkv::bpe_files(tokenizer()));
  CHECK(ids(encoder, "abc a") == std::vector<double>{7, 8});
  CHECK(texts(encoder, "abc a") == std::vector<std::string>{"abc", " a"});
}

TEST_CASE("an added token is taken out before the text is cut, the longest first") {
  const qkv::BytePairEncoder encoder(qkv::bpe_files(tokenizer("", R"({"id": 30, "content": "<x>"},
    {"id": 31, "content": "<x>a", "lstrip": true}, {"id": 32, "content": "<b>", "rstrip": true})")));
  CHECK(ids(encoder, "ab<x>c") == std::vector<double>{6, 30, 2});
  CHECK(ids(encoder, "b \t<x>a") == std::vector<double>{1, 31});
  CHECK(ids(encoder, " <b> \u00a0a") == std::vector<double>{3, 32, 0});
  CHECK(ids(encoder, "<x") == std::vector<double>{4, 10});
}

TEST_CASE("add_prefix_space puts a blank before the text and after each added token") {
  const qkv::BytePairEncoder encoder(
      qkv::bpe_files(tokenizer("", R"({"id": 30, "content": "<x>"})", "true")));
  CHECK(ids(encoder, "a a") == std::vector<double>{8, 8});
  CHECK(ids(encoder, " a<x>a") == std::vector<double>{8, 30, 8});
  CHECK(ids(encoder, "<x>") == std::vector<double>{30});
}

TEST_CASE("a pattern of the file's own cuts the text, as Llama 3's does") {
  const qkv::TokenRegex llama3(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)");
  using Pieces = std::vector<std::string_view>;
  CHECK(llama3.pieces("It'S 12345 cats!\n\n  x") ==
        Pieces{"It", "'S", " ", "123", "45", " cats", "!\n\n", " ", " x"});
  CHECK(llama3.pieces("a\t\tb   ") == Pieces{"a", "\t", "\tb", "   "});
  CHECK(qkv::TokenRegex("a++b|[^a-c]").pieces("aab!") == Pieces{"aab", "!"});
}

TEST_CASE("a pattern means what Oniguruma reads, not what PCRE2 would") {
  using Pieces = std::vector<std::string_view>;
  CHECK(qkv::TokenRegex(R"(\s)").pieces("a\u180eb\u2003") == Pieces{"a\u180eb", "\u2003"});
  CHECK(qkv::TokenRegex(R"(\w+)").pieces("e\u0301‿_ f") == Pieces{"e\u0301‿_", " ", "f"});
  CHECK(qkv::TokenRegex(R"([\w]|\W+)").pieces("-+\u0301") == Pieces{"-+", "\u0301"});
  CHECK(qkv::TokenRegex(R"(\v|[]x])").pieces("\na\v]x") == Pieces{"\na", "\v", "]", "x"});
  CHECK(qkv::TokenRegex("(?i:'s)").pieces("'ſ'S") ==
        Pieces{"'ſ", "'S"});  // Unicode folds the long s
}

TEST_CASE("what a pattern has that no known tokenizer's has is refused by name") {
  const auto refusal_of_pattern = [](std::string_view pattern) -> std::string {
    try {
      qkv::TokenRegex{pattern};
      return "";
    } catch (const qkv::InputError& error) {
      return error.what();
    }
  };
  CHECK(refusal_of_pattern("^a") ==
        "tokenizer: the pattern ^a has a ^ that qkv does not know there");
  CHECK(refusal_of_pattern("(?<=a)b") ==
        "tokenizer: the pattern (?<=a)b has a group of a kind that qkv does not know");
  CHECK(refusal_of_pattern("(*UCP)a") ==
        "tokenizer: the pattern (*UCP)a has a group of a kind that qkv does not know");
  CHECK(refusal_of_pattern("[a[b]]") == "tokenizer: the pattern [a[b]] has a class in a class");
  CHECK(refusal_of_pattern(R"(\bx)") ==
        R"(tokenizer: the pattern \bx has \b, which qkv does not know)");
  CHECK(refusal_of_pattern(R"(\p{Han})") ==
        R"(tokenizer: the pattern \p{Han} has a \p other than {L}, {Lu}, {N} and the )"
        "like");
  CHECK(refusal_of_pattern("a{,3}") ==
        "tokenizer: the pattern a{,3} has a { that qkv does not know there");
  CHECK(refusal_of_pattern("(a") ==
        "tokenizer: the pattern (a has an error: missing closing parenthesis");
}

TEST_CASE("a pattern that takes too long to match is refused") {
  const std::string text(40, 'a');
  CHECK_THROWS_WITH(qkv::TokenRegex("(?:a|aa)*(?:b|c)").pieces(text),
                    "tokenizer: its pattern takes too long to cut this text");
}

TEST_CASE("pieces of characters have a mark for a blank, and bytes for what is not known") {
  const std::string file = R"({"normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
    "model": {"type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "<unk>",
      "vocab": {"<unk>": 0, "<s>": 1, "▁": 2, "a": 3, "b": 4, "ab": 5, "▁ab": 6,
                "<0xC3>": 7, "<0xA9>": 8},
      "merges": ["a b", "▁ ab"]}})";
  const qkv::BytePairEncoder encoder(qkv::bpe_files(file));
  CHECK(ids(encoder, "ab a") == std::vector<double>{1, 6, 2, 3});
  CHECK(ids(encoder, "bé") == std::vector<double>{1, 2, 4, 7, 8});
  CHECK(ids(encoder, "bxyz") == std::vector<double>{1, 2, 4, 0});
  CHECK(encoder.texts(7)[6] == " ab");
}

TEST_CASE("a tokenizer of another kind is refused with what it has") {
  CHECK(refusal_of(R"({"model": {"type": "WordPiece", "vocab": {}}})") ==
        "tokenizer: its model is WordPiece" + only);
  CHECK(refusal_of(R"({"model": {"type": "Unigram", "vocab": []}})") ==
        "tokenizer: its model is Unigram" + only);
  CHECK(refusal_of(R"({"model": {"vocab": {}, "merges": []}})") ==
        "tokenizer: its pre_tokenizer is none" + only);
  CHECK(refusal_of(R"({"model": {"type": "BPE", "vocab": {}, "merges": []},
                       "pre_tokenizer": {"type": "Sequence", "pretokenizers": []}})") ==
        "tokenizer: its pre_tokenizer is Sequence" + only);
  CHECK(refusal_of(tokenizer(R"(, "normalizer": {"type": "Lowercase"})")) ==
        "tokenizer: its normalizer is Lowercase" + only);
  CHECK(refusal_of(tokenizer(R"(, "post_processor": {"type": "RobertaProcessing"})")) ==
        "tokenizer: its post_processor, RobertaProcessing, adds tokens" + only);
  CHECK(refusal_of(tokenizer("", R"({"id": 30, "content": "<x>", "single_word": true})")) ==
        "tokenizer: its added token <x> has single_word = true" + only);
  CHECK(refusal_of(tokenizer(R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
          {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated"},
          {"type": "ByteLevel", "add_prefix_space": true, "use_regex": false}]})")) ==
        "tokenizer: its pre_tokenizer puts a blank before each piece that it has cut" + only);
  CHECK(refusal_of(R"({"model": {"vocab": {}, "merges": [], "dropout": 0.1}})") ==
        "tokenizer: its model has dropout = 0.1" + only);
  CHECK(refusal_of(R"({"vocab": {}})") == "tokenizer: it has no model" + only);
  CHECK(refusal_of("[1]") == "tokenizer is not a JSON object");
}

TEST_CASE("an added token that is looked for after a mark was put before the text is not guessed") {
  const auto encoder = qkv::byte_pair_encoder(
      R"({"added_tokens": [{"id": 1, "content": "<s>", "normalized": true}],
          "normalizer": {"type": "Prepend", "prepend": "_"},
          "model": {"vocab": {"a": 0, "<s>": 1, "_": 2}, "merges": []}})");
  CHECK(ids(*encoder, "a") == std::vector<double>{2, 0});
  CHECK_THROWS_WITH(encoder->encode("a<s>"), Catch::Contains("the text holds \"<s>\""));
}

TEST_CASE("added tokens of the text as it is written come before those of the normalised one") {
  const qkv::BytePairEncoder encoder(qkv::bpe_files(
      tokenizer(R"(, "normalizer": {"type": "NFC"})",
                R"({"id": 30, "content": "<a>b", "normalized": true}, {"id": 31, "content": "<a>"},
         {"id": 32, "content": "\u00e9", "normalized": true})")));
  CHECK(ids(encoder, "<a>b") == std::vector<double>{31, 1});
  CHECK(ids(encoder, "ae\u0301<a>\u00e9b") == std::vector<double>{0, 32, 31, 32, 1});
}

TEST_CASE("a file is read once, whoever asks") {
  const auto encoder = qkv::byte_pair_encoder(vocab, merges);
  CHECK(qkv::byte_pair_encoder(std::string(vocab), merges) == encoder);
  CHECK(qkv::byte_pair_encoder(tokenizer()) != encoder);
  CHECK(qkv::byte_pair_encoder(vocab, merges) == encoder);
}

}  // namespace tokens_bpe_tests
