#include "tokens/tokens.hpp"

#include <mutex>
#include <queue>
#include <tuple>

#include "text/strings.hpp"

namespace qkv::inline tokens {
namespace {

/// Returns "<0xF0>", SentencePiece's name of a byte token.
std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

/// GPT-2's bytes_to_unicode table: printable bytes are themselves, the others U+0100 and up.
const std::array<std::string, 256>& byte_to_unicode() {
  static const auto table = [] {
    std::array<std::string, 256> letters;
    CodePoint spare = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                             (byte >= 0xae && byte <= 0xff);
      append_code(letters[static_cast<std::size_t>(byte)], printable ? byte : spare++);
    }
    return letters;
  }();
  return table;
}

/// " cat" → "Ġcat".
std::string bytes_to_letters(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) letters += byte_to_unicode()[static_cast<unsigned char>(byte)];
  return letters;
}

/// Returns the bytes of a piece's letters; empty if one is not in the table.
std::string letters_to_bytes(std::string_view letters) {
  static const std::unordered_map<std::string, char> known = [] {
    std::unordered_map<std::string, char> bytes;
    const auto& all = byte_to_unicode();
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      bytes.emplace(all[byte], static_cast<char>(byte));
    }
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t length = (static_cast<unsigned char>(letters[at]) & 0x80U) == 0 ? 1 : 2;
    const auto found = known.find(std::string(letters.substr(at, length)));
    if (found == known.end()) return {};
    bytes += found->second;
    at += length;
  }
  return bytes;
}

/// Decodes bytes to text. Bytes of an incomplete character, as pieces of many scripts have, are
/// written as <0xF0>.
std::string written_bytes(std::string_view bytes) {
  std::string text;
  each_code_point(bytes, [&](CodePoint code, std::string_view character) {
    text += code == bad_byte ? byte_token(static_cast<unsigned char>(character[0]))
                             : std::string(character);
  });
  return text;
}

[[noreturn]] void refuse_missing(std::string_view piece) {
  throw InputError("the vocabulary has no \"{}\", which the text needs", piece);
}

}  // namespace

// A word during merging: a list of symbols, and a queue of the pairs that may be joined next.
class BytePairEncoder::Word {
 public:
  Word(const BytePairEncoder& encoder, const Symbols& symbols) : encoder_(encoder) {
    for (const Symbol symbol : symbols) {
      const std::size_t place = parts_.size();
      parts_.push_back({symbol, place - 1, place + 1});
    }
    for (std::size_t place = 0; place + 1 < parts_.size(); ++place) propose(place);
  }

  Symbols joined() {
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      if (stands(pair)) join(pair);
    }
    Symbols symbols = mapped(parts_, &Part::symbol);
    std::erase(symbols, gone);
    return symbols;
  }

 private:
  static constexpr Symbol gone = ~Symbol{0};

  struct Part {
    Symbol symbol;
    std::size_t before, after;
  };
  struct Pair {
    std::uint32_t rank;
    std::size_t place;
    Symbol left, right, joined;
    // The queue returns the lowest rank first, and of equal ranks the leftmost pair.
    bool operator<(const Pair& other) const {
      return std::tie(rank, place) > std::tie(other.rank, other.place);
    }
  };

  void propose(std::size_t place) {
    const std::size_t after = parts_[place].after;
    if (after >= parts_.size()) return;
    const Symbol left = parts_[place].symbol;
    const Symbol right = parts_[after].symbol;
    if (const Merge* merge = encoder_.merge_of(left, right)) {
      pairs_.push({merge->rank, place, left, right, merge->joined});
    }
  }

  // False if one of the two symbols was joined with its other neighbour meanwhile.
  bool stands(const Pair& pair) const {
    const Part& left = parts_[pair.place];
    return left.symbol == pair.left && left.after < parts_.size() &&
           parts_[left.after].symbol == pair.right;
  }

  void join(const Pair& pair) {
    Part& left = parts_[pair.place];
    Part& right = parts_[left.after];
    left.symbol = pair.joined;
    left.after = right.after;
    right.symbol = gone;
    if (left.after < parts_.size()) parts_[left.after].before = pair.place;
    if (left.before < parts_.size()) propose(left.before);
    propose(pair.place);
  }

  const BytePairEncoder& encoder_;
  std::vector<Part> parts_;
  std::priority_queue<Pair> pairs_;
};

BytePairEncoder::BytePairEncoder(const BpeFiles& files) : settings_(files.settings) {
  symbols_.reserve(files.merges.size() + 256);
  merges_.reserve(files.merges.size());
  for (int byte = 0; byte < 256; ++byte) {
    const auto place = static_cast<std::size_t>(byte);
    bytes_.push_back(symbol_of(settings_.by_characters
                                   ? byte_token(static_cast<unsigned char>(byte))
                                   : byte_to_unicode()[place],
                               files));
  }
  if (settings_.by_characters || settings_.ignore_merges) {
    for (const auto& [letters, id] : files.ids) symbol_of(letters, files);
  }
  if (files.unknown) unknown_ = symbol_of(*files.unknown, files);
  std::uint32_t rank = 0;
  for (const auto& [left, right] : files.merges) {
    const std::uint64_t pair =
        std::uint64_t{symbol_of(left, files)} << 32U | symbol_of(right, files);
    merges_.insert_or_assign(pair, Merge{rank++, symbol_of(left + right, files)});
  }
  std::ranges::stable_sort(settings_.added, std::ranges::greater(),
                           [](const AddedToken& token) { return token.text.size(); });
}

BytePairEncoder::Symbol BytePairEncoder::symbol_of(const std::string& letters,
                                                   const BpeFiles& files) {
  const auto [found, is_new] = symbols_.emplace(letters, static_cast<Symbol>(pieces_.size()));
  if (!is_new) return found->second;
  const auto id = files.ids.find(letters);
  pieces_.push_back({letters, id == files.ids.end() ? std::nullopt : std::optional(id->second)});
  return found->second;
}

const BytePairEncoder::Merge* BytePairEncoder::merge_of(Symbol left, Symbol right) const {
  const auto found = merges_.find(std::uint64_t{left} << 32U | right);
  return found == merges_.end() ? nullptr : &found->second;
}

BytePairEncoder::Symbols BytePairEncoder::symbols_of(const std::string& word) const {
  Symbols symbols;
  if (!settings_.by_characters) {
    for (const char byte : word) symbols.push_back(bytes_[static_cast<unsigned char>(byte)]);
    return symbols;
  }
  for (std::size_t at = 0; at < word.size();) {
    const std::string character = word.substr(at, decode_code_point(word, at).bytes);
    at += character.size();
    const auto found = symbols_.find(character);
    const auto is_token = [&](char byte) {
      return pieces_[bytes_[static_cast<unsigned char>(byte)]].id.has_value();
    };
    if (found != symbols_.end() && pieces_[found->second].id) {
      symbols.push_back(found->second);
    } else if (settings_.byte_fallback && std::ranges::all_of(character, is_token)) {
      for (const char byte : character) symbols.push_back(bytes_[static_cast<unsigned char>(byte)]);
    } else if (!unknown_) {
      refuse_missing(character);
    } else if (!settings_.fuse_unknown || symbols.empty() || symbols.back() != *unknown_) {
      symbols.push_back(*unknown_);
    }
  }
  return symbols;
}

BytePairEncoder::Symbols BytePairEncoder::joined(const std::string& word) const {
  if (settings_.ignore_merges) {
    const auto whole = symbols_.find(settings_.by_characters ? word : bytes_to_letters(word));
    if (whole != symbols_.end() && pieces_[whole->second].id) return {whole->second};
  }
  return Word(*this, symbols_of(word)).joined();
}

std::string BytePairEncoder::text_of(const Piece& piece) const {
  if (!settings_.by_characters) return written_bytes(letters_to_bytes(piece.letters));
  const std::string& blank = settings_.pre_tokenizer.blank;
  return blank.empty() ? piece.letters : replace_all(piece.letters, blank, " ");
}

void BytePairEncoder::encode_part(std::string_view text, bool is_first, Known& known,
                                  std::vector<BpeToken>& tokens) const {
  for (std::string& word : settings_.pre_tokenizer.words(text, is_first)) {
    const auto [found, is_new] = known.try_emplace(std::move(word));
    if (is_new) found->second = joined(found->first);
    for (const Symbol symbol : found->second) {
      const Piece& piece = pieces_[symbol];
      if (!piece.id) refuse_missing(piece.letters);
      tokens.push_back({*piece.id, text_of(piece)});
    }
  }
}

std::vector<std::string> BytePairEncoder::texts(std::size_t count) const {
  std::vector<std::string> texts(count);
  const auto add = [&](double id, std::string text) {
    if (id >= 0 && id < static_cast<double>(count)) {
      texts[static_cast<std::size_t>(id)] = std::move(text);
    }
  };
  for (const Piece& piece : pieces_) {
    if (piece.id) add(*piece.id, text_of(piece));
  }
  for (const AddedToken& token : settings_.added) add(token.id, token.text);
  return texts;
}

std::vector<BytePairEncoder::Part> BytePairEncoder::cut_at_added(std::string_view text,
                                                                 bool is_normalised) const {
  std::vector<Part> parts;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto begins_here = [&](const AddedToken& token) {
      return token.normalised == is_normalised && text.substr(at).starts_with(token.text);
    };
    const auto added = std::ranges::find_if(settings_.added, begins_here);
    if (added == settings_.added.end()) {
      ++at;
      continue;
    }
    if (is_normalised && settings_.pre_tokenizer.start == PreTokenizer::PrependScheme::always)
      throw InputError("the text holds \"{}\", a token only behind a mark for a blank: give --ids",
                       added->text);
    std::string_view before = text.substr(start, at - start);
    if (added->strips_left) before.remove_suffix(blanks_after(before));
    if (!before.empty()) parts.push_back({before});
    parts.push_back({added->text, &*added});
    at += added->text.size();
    if (added->strips_right) at += blanks_before(text.substr(at));
    start = at;
  }
  if (start < text.size()) parts.push_back({text.substr(start)});
  return parts;
}

std::vector<BpeToken> BytePairEncoder::encode(std::string_view text) const {
  std::vector<BpeToken> tokens;
  for (const AddedToken& token : settings_.before) tokens.push_back({token.id, token.text});
  Known known;
  bool is_first = true;
  for (const Part& outer : cut_at_added(text, false)) {
    const bool is_composed = settings_.pre_tokenizer.normalises_nfc && !outer.token;
    const std::string normalised = is_composed ? composed(outer.text) : std::string(outer.text);
    for (const Part& part : outer.token ? std::vector{outer} : cut_at_added(normalised, true)) {
      if (part.token) tokens.push_back({part.token->id, part.token->text});
      if (!part.token) encode_part(part.text, is_first, known, tokens);
      is_first = false;
    }
  }
  for (const AddedToken& token : settings_.after) tokens.push_back({token.id, token.text});
  return tokens;
}

std::shared_ptr<const BytePairEncoder> byte_pair_encoder(
    std::string_view vocab_or_tokenizer_json, std::optional<std::string_view> merges_txt) {
  using Files = std::pair<std::string, std::optional<std::string>>;
  using Entry = std::pair<Files, std::shared_ptr<const BytePairEncoder>>;
  static std::mutex mutex;
  static std::vector<Entry> entries;
  const std::scoped_lock lock(mutex);
  Files files(vocab_or_tokenizer_json, merges_txt);
  if (const Entry* known = find_by(entries, files, &Entry::first)) return known->second;
  auto encoder = std::make_shared<const BytePairEncoder>(
      merges_txt ? bpe_files(vocab_or_tokenizer_json, *merges_txt)
                 : bpe_files(vocab_or_tokenizer_json));
  constexpr std::size_t kept = 2;  // compare has two lessons, other commands one
  if (entries.size() == kept) entries.erase(entries.begin());
  entries.emplace_back(std::move(files), encoder);
  return encoder;
}

}  // namespace qkv::inline tokens
