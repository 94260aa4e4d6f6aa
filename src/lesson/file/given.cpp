#include "lesson/file/tables.hpp"

#include <atomic>

#include "text/unicode.hpp"

namespace qkv::inline lesson {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> any_file_will_do = false;

[[noreturn]] void refuse_outside(const std::string& file, std::string_view why) {
  throw InputError(
      "{}: {}; put the file beside the lesson, or add --allow-outside-files if you trust this "
      "lesson",
      file, why);
}

// A pipe would wait for a writer; a device may never end.
void refuse_special(const fs::path& path, const std::string& file) {
  const fs::file_status status = status_at(path);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  refuse_outside(file, "this is a pipe or a device, and a lesson reads plain files");
}

constexpr std::string_view given_keys[] = {
    "name",        "value", "randn", "rand", "eye",       "ones", "zeros",   "tril", "linear",
    "linear_bias", "file",  "key",   "seed", "transpose", "rows", "columns", "show"};

// The numbers of a given before transposing and labelling, and the labels of its file.
struct GivenNumbers {
  Tensor tensor;
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
};

// A [[given]] table while it is parsed.
struct Table {
  const toml::table& table;
  std::string_view key;  // the key that defines its numbers
  GivenContext& context;
  TomlReader& reader;

  const toml::node& node() const { return *table.get(key); }
  std::optional<Shape> shape() const { return reader.shape(table, key); }
};

GivenNumbers from_written(const ParsedArray& written, std::string_view where) {
  const Values values = written.cells.values();
  const auto blank = std::ranges::find_if(values, [](double x) { return std::isnan(x); });
  if (blank != values.end()) {
    const auto i = static_cast<std::size_t>(blank - values.begin());
    const std::size_t width = written.shape.back();
    throw InputError("{}: row {}, column {} is blank or nan; a given needs every number", where,
                     i / width + 1, i % width + 1);
  }
  return {tensor_of(written.shape, values), written.row_labels, written.column_labels};
}

std::optional<GivenNumbers> read_value(const Table& given) {
  const auto written = given.reader.numbers(given.node());
  if (written && written->cells.empty())
    throw InputError("it holds no numbers; write at least one");
  return written ? std::optional(from_written(*written, "value")) : std::nullopt;
}

std::optional<GivenNumbers> read_from_file(const Table& given) {
  const auto file = given.reader.text(given.table, given.key);
  if (!file) return {};
  const std::filesystem::path path = file_of_lesson(given.context.directory, *file);
  const auto key_in_file = given.reader.text(given.table, "key");
  if (is_modified(path, given.context.manifests)) {
    throw InputError(
        "{}: this is not the file that {} beside it lists: it was changed after the export; export "
        "again or, if the change is meant, remove that list",
        *file, manifest_name);
  }
  return from_written(read_array(path, key_in_file), *file);
}

// 1 where `is_one(row, column)`, else 0.
std::optional<GivenNumbers> square_of(const Table& given,
                                      bool (*is_one)(std::size_t, std::size_t)) {
  const toml::array* list = given.node().as_array();
  if (list ? list->size() != 1 : !given.node().is_integer())
    return given.reader.fault(given.node(), "{} takes one size: {} = 3", given.key, given.key);
  const auto sizes = given.shape();
  if (!sizes) return {};
  const std::size_t n = sizes->front();
  std::vector<double> values(element_count({n, n}, given.key));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = is_one(i / n, i % n) ? 1 : 0;
  return GivenNumbers{tensor_of({n, n}, values)};
}

std::optional<GivenNumbers> filled(const Table& given, double value) {
  const auto shape = given.shape();
  if (!shape) return {};
  return GivenNumbers{
      tensor_of(*shape, std::vector<double>(element_count(*shape, given.key), value))};
}

// Returns the stream to draw from, restarted if the given has its own seed.
RandomStream* stream_for(const Table& given) {
  GivenContext& context = given.context;
  if (!context.generator) {
    given.reader.fault(given.node(),
                       "{} draws random numbers, and the lesson doesn't say whose: write [random] "
                       "with generator = \"numpy\" and seed = 0",
                       given.key);
    return nullptr;
  }
  if (const auto seed = given.reader.whole(given.table, "seed")) {
    if (*seed < 0) throw InputError("seed must not be negative");
    context.stream.emplace(*context.generator, static_cast<std::uint64_t>(*seed));
  }
  return &*context.stream;
}

std::optional<GivenNumbers> draw(const Table& given,
                                 void (RandomStream::*draws)(std::span<double>)) {
  const auto shape = given.shape();
  RandomStream* stream = stream_for(given);
  if (!shape || !stream) return {};
  Values numbers = Values::uninitialised(element_count(*shape, given.key));
  (stream->*draws)(numbers.mutable_span());
  return GivenNumbers{tensor_of(*shape, std::move(numbers))};
}

// nn.Linear(in, out): the weight is stored out × in, the bias is a vector.
enum class LinearPart { weight, bias };
std::optional<GivenNumbers> draw_linear(const Table& given, LinearPart part) {
  const auto sizes = given.shape();
  RandomStream* stream = stream_for(given);
  if (!sizes || !stream) return {};
  if (sizes->size() != 2) {
    return given.reader.fault(given.node(), "{} takes the sizes in and out: {} = [3, 2]", given.key,
                              given.key);
  }
  const std::size_t in = (*sizes)[0];
  const std::size_t out = (*sizes)[1];
  if (part == LinearPart::bias) return GivenNumbers{tensor_of({out}, stream->linear_bias(in, out))};
  return GivenNumbers{tensor_of({out, in}, stream->linear_weight(in, out))};
}

struct NumbersKind {
  std::string_view key;
  std::optional<GivenNumbers> (*read)(const Table&);
};

constexpr NumbersKind sources[] = {
    {"value", read_value},
    {"file", read_from_file},
    {"randn", [](const Table& given) { return draw(given, &RandomStream::randn); }},
    {"rand", [](const Table& given) { return draw(given, &RandomStream::rand); }},
    {"linear", [](const Table& given) { return draw_linear(given, LinearPart::weight); }},
    {"linear_bias", [](const Table& given) { return draw_linear(given, LinearPart::bias); }},
    {"eye",
     [](const Table& given) {
       return square_of(given, [](std::size_t i, std::size_t j) { return i == j; });
     }},
    {"ones", [](const Table& given) { return filled(given, 1); }},
    {"zeros", [](const Table& given) { return filled(given, 0); }},
    {"tril",
     [](const Table& given) {
       return square_of(given, [](std::size_t i, std::size_t j) { return j <= i; });
     }},
};

const NumbersKind* source_kind(const toml::table& table, const std::string& name,
                               TomlReader& reader) {
  const NumbersKind* found = nullptr;
  for (const NumbersKind& kind : sources) {
    if (!table.contains(kind.key)) continue;
    if (found) {
      reader.fault(*table.get(kind.key), "{} has both {} and {}; keep one of them", name,
                   found->key, kind.key);
      return nullptr;
    }
    found = &kind;
  }
  if (!found) {
    reader.fault(table,
                 "{} has no numbers; write value = [[1, 0], [0, 1]], or one of randn, rand, "
                 "linear, linear_bias, eye, ones, zeros, tril, file",
                 name);
  }
  return found;
}

// Sets the labels written in the lesson, or those of the file with the numbers.
bool label_axis(Axis& axis, const toml::table& table, std::string_view key,
                std::vector<std::string> from_file, const std::string& name, TomlReader& reader) {
  if (table.contains(key)) {
    auto written = reader.texts(table, key);
    if (!written) return false;
    from_file = std::move(*written);
  }
  if (!from_file.empty() && from_file.size() != axis.size) {
    const toml::node& at = table.contains(key) ? *table.get(key) : table;  // or from its file
    reader.fault(at, "{}: {} has {} for {}", name, key, pluralise(from_file.size(), "label"),
                 pluralise(axis.size, key.substr(0, key.size() - 1)));
    return false;
  }
  axis.labels = mapped(from_file, composed);
  return true;
}

}  // namespace

fs::path file_of_lesson(const fs::path& directory, const std::string& file) {
  if (file.find('\0') != file.npos) refuse(file, "no file's name has a zero byte");
  const fs::path path = directory / file;
  if (any_file_will_do) return path;
  const fs::path named(file);
  if (named.is_absolute())
    refuse_outside(file, "an absolute path leads out of the lesson's directory");
  if (contains(named, "..")) refuse_outside(file, "\"..\" leads out of the lesson's directory");
  std::error_code error;
  const fs::path home = fs::canonical(directory.empty() ? fs::path(".") : directory, error);
  const fs::path target = error ? fs::path() : fs::weakly_canonical(home / named, error);
  if (error) return path;  // missing: opening it reports that
  if (std::ranges::mismatch(home, target).in1 != home.end()) {
    refuse_outside(file, "a link leads out of the lesson's directory");
  }
  refuse_special(path, file);
  return path;
}

void allow_outside_files() { any_file_will_do = true; }

bool is_name(std::string_view name) {
  return std::ranges::all_of(split(name, '.'), [](std::string_view part) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const auto may_follow = [&](char c) { return contains(letters, c) || is_digit(c) || c == '_'; };
    return !part.empty() && contains(letters, part[0]) && std::ranges::all_of(part, may_follow);
  });
}

void read_random(const toml::table& document, GivenContext& context, TomlReader& reader) {
  const toml::table* random = reader.table(document, "random", "generator and seed");
  if (!random) return;
  constexpr std::string_view keys_of_random[] = {"generator", "seed"};
  reader.refuse_unknown_keys(*random, keys_of_random, "[random]");
  const std::string generator = reader.text(*random, "generator").value_or("numpy");
  if (generator != "numpy" && generator != "torch") {
    reader.fault(*random->get("generator"), "generator is \"numpy\" or \"torch\", not \"{}\"",
                 generator);
    return;
  }
  const std::int64_t seed = reader.whole(*random, "seed").value_or(0);
  try {
    if (seed < 0) throw InputError("seed must not be negative");
    context.generator = generator == "torch" ? Generator::torch : Generator::numpy;
    context.stream.emplace(*context.generator, static_cast<std::uint64_t>(seed));
  } catch (const InputError& error) {
    reader.fault(random->contains("seed") ? *random->get("seed") : *random, error.what());
    context.generator.reset();
  }
}

std::optional<Given> read_given(const toml::table& table, GivenContext& context,
                                TomlReader& reader) {
  reader.refuse_unknown_keys(table, given_keys, "a [[given]]");
  const std::string name = reader.text(table, "name").value_or("");
  const std::string called = name.empty() ? "this given" : name;
  const NumbersKind* kind = source_kind(table, called, reader);
  if (!kind) return {};
  try {
    std::optional<GivenNumbers> source = kind->read({table, kind->key, context, reader});
    if (!source) return {};
    Tensor& tensor = source->tensor;
    if (reader.flag(table, "transpose").value_or(false)) {
      tensor = transposed(tensor);
      std::swap(source->rows, source->columns);
    }
    if (!label_axis(tensor.axes.back(), table, "columns", source->columns, name, reader)) return {};
    if (tensor.rank() > 1 &&
        !label_axis(tensor.axes[tensor.rank() - 2], table, "rows", source->rows, name, reader)) {
      return {};
    }
    context.budget.add(tensor, kind->key);
    if (context.token_layout == TokenLayout::columns) tensor = transposed(tensor);
    return Given{name, std::move(tensor)};
  } catch (const InputError& error) {
    reader.fault(*table.get(kind->key), "{}: {}", called, error.what());
  } catch (const std::bad_alloc&) {
    reader.fault(*table.get(kind->key), "{}: {}", called, out_of_memory());
  }
  return {};
}

}  // namespace qkv::inline lesson
