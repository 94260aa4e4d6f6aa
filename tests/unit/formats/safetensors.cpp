#include "formats/arrays/arrays.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "text/strings.hpp"

namespace formats_safetensors_tests {

namespace {

using namespace qkv;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

/// A file of that header and those bytes of numbers, its length in front.
std::string file(const std::string& header, const std::string& data = {}) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::vector<NamedArray> read(const std::string& bytes) {
  return read_safetensors(bytes, "w.safetensors");
}

std::string refusal_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

Values values_of(const ParsedArray& written) {
  Values values;
  for (const Numeral& cell : written.cells) values.push_back(cell.value);
  return values;
}

/// One tensor of that dtype and shape.
std::string one(const std::string& dtype, const std::string& shape, const std::string& data) {
  return file(R"({"Q":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[0,)" +
                  std::to_string(data.size()) + "]}}",
              data);
}

std::string two_tensors() {
  return file(R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"__metadata__":{"k":"v"},)"
              R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}} )",
              "123456789012");
}

TEST_CASE("large arrays are read where they are used, with the same numbers") {
  constexpr std::size_t count = 100'000;
  std::string data;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = static_cast<float>(i) / 8 - 1000;
    data.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  const auto bytes = std::make_shared<const std::string>(one("F32", "[400,250]", data));
  const auto kept = read_safetensors(*bytes, "w.safetensors", {.keeps = bytes});
  const qkv::Values lazy = kept[0].written.cells.values();
  const qkv::Values stored = read(*bytes)[0].written.cells.values();
  CHECK_FALSE(lazy.are_stored());
  CHECK(stored.are_stored());
  CHECK(lazy[99'999] == 99'999.0 / 8 - 1000);
  CHECK(difference_of(lazy, stored, {}).identical);
  CHECK(difference_of(stored, lazy, {}).identical);
  qkv::Values other = stored;
  other.mutable_span()[70'000] += 1;
  for (const Difference& found : {difference_of(lazy, other, {}), difference_of(other, lazy, {})}) {
    CHECK(found.mismatched == 1);
    CHECK(found.first == 70'000);
  }
  const NumeralCells part =
      kept[0].written.cells.runs(2, 3, [](std::size_t k) { return 90'000 * k; });
  CHECK(part[5].value == 90'002.0 / 8 - 1000);
}

TEST_CASE("floats of every size are read, and how precise they are") {
  const auto f64 = read(one("F64", "[1]", "\x00\x00\x00\x00\x00\x00\xf8\x3f"s));
  CHECK(f64[0].name == "Q");
  CHECK(values_of(f64[0].written) == Values{1.5});
  CHECK(f64[0].written.precision == Precision::float64);
  const auto f32 = read(one("F32", "[1]", "\x00\x00\xc0\x3f"s))[0].written;
  CHECK(values_of(f32) == Values{1.5});
  CHECK(f32.precision == Precision::float32);
  const auto f16 = read(one("F16", "[2]", "\x00\x3e\x00\xfc"s))[0].written;
  CHECK(values_of(f16) == Values{1.5, -INFINITY});
  CHECK(f16.precision == Precision::float16);
  // bfloat16 is a float without its lower half: 1.5 is 0x3fc0, 2^-126 is 0x0080.
  const auto bf16 = read(one("BF16", "[3]", "\xc0\x3f\x80\x00\x80\xff"s))[0].written;
  CHECK(values_of(bf16) == Values{1.5, std::ldexp(1.0, -126), -INFINITY});
  CHECK(bf16.precision == Precision::bfloat16);
}

TEST_CASE("whole numbers of a safetensors file are exact") {
  const auto i64 = read(one("I64", "[1]", "\xf9\xff\xff\xff\xff\xff\xff\xff"s))[0].written;
  CHECK(values_of(i64) == Values{-7});
  CHECK(i64.precision == Precision::digits);
  CHECK(values_of(read(one("U8", "[2]", "\xff\x01"s))[0].written) == Values{255, 1});
  CHECK(values_of(read(one("BOOL", "[2]", "\x00\x01"s))[0].written) == Values{0, 1});
}

TEST_CASE("a safetensors file has tensors of any rank, in any order, and metadata") {
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[1,2,1],"data_offsets":[1,3]},"__metadata__":{"by":"hand"},)"
      R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}   )";
  const std::string bytes = file(header, "\x07\x08\x09");
  const SafetensorsIndex index = safetensors_index(bytes, "w");
  CHECK(index.metadata.at("by") == "hand");
  const auto tensors = read(bytes);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].name == "b");
  CHECK(tensors[0].written.shape == Shape{1, 2, 1});
  CHECK(values_of(tensors[0].written) == Values{8, 9});
  CHECK(tensors[1].written.shape == Shape{1});
  CHECK(values_of(tensors[1].written) == Values{7});
}

TEST_CASE("only the tensors that are wanted are read: others may be of any dtype") {
  const std::string header = R"({"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                             R"("Q":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";
  const std::string bytes = file(header, "\x01\x02\x03");
  const auto only_q = [](const std::string& name) { return name == "Q"; };
  CHECK(values_of(read_safetensors(bytes, "w", {.accepts = only_q})[0].written) == Values{3});
  CHECK(refusal_of(bytes) ==
        "w.safetensors, w: dtype F8_E4M3 is not read: save it as F64, F32, F16 or BF16");
}

TEST_CASE("of a tensor with more numbers than are wanted, only the shape is read") {
  const std::string bytes =
      file(R"({"Q":{"dtype":"U8","shape":[3,1],"data_offsets":[0,3]}})", "\x01\x02\x03");
  const auto read = [&](std::size_t most) {
    return read_safetensors(bytes, "w", {.most = [most](const std::string&) { return most; }})[0]
        .written;
  };
  CHECK(read(3).cells.size() == 3);
  CHECK(read(2).shape == Shape{3, 1});
  CHECK(read(2).cells.empty());
}

TEST_CASE("what is no safetensors file is told so") {
  CHECK(refusal_of("1,2\n") ==
        "w.safetensors: this is not a .safetensors file: it has 4 bytes, and its header's length "
        "alone takes 8");
  CHECK(refusal_of("numbers, a line each\n") ==
        "w.safetensors: the header is said to have 3203029539759158638 bytes, more than the "
        "100000000 that are read: is this a .safetensors file?");
  CHECK(refusal_of(file("[1]")) ==
        "w.safetensors: this is not a .safetensors file: its header does not begin with {");
  CHECK(refusal_of(file("{}")) == "w.safetensors: there are no tensors in it");
}

TEST_CASE("a safetensors file that was cut short is refused") {
  const std::string whole = one("U8", "[4]", "1234");
  CHECK(refusal_of(whole.substr(0, 20)) ==
        "w.safetensors: the header is said to have 53 bytes, the file has 12 after its length: "
        "save the tensors again");
  CHECK(refusal_of(whole.substr(0, whole.size() - 1)) ==
        "w.safetensors: Q lies at bytes 0 to 4, and there are 3 bytes of numbers: save the tensors "
        "again");
  CHECK(refusal_of(whole + "5") ==
        "w.safetensors: the last 1 bytes belong to no tensor: save the tensors again");
}

TEST_CASE("a safetensors file cut short anywhere is refused, and no changed byte does harm") {
  const std::string whole = two_tensors();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_AS(read(whole.substr(0, size)), InputError);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x11, 0x80}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      try {
        const std::vector<NamedArray> tensors = read(changed);
        CHECK(tensors.size() <= 2);
      } catch (const InputError&) {
      }
    }
  }
}

/// Two tensors of two bytes at those offsets, in a file with that many bytes of numbers.
std::string two_at(const std::string& a, const std::string& b, std::size_t size) {
  return file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
                  R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}",
              std::string(size, '\1'));
}

TEST_CASE("tensors that overlap, leave holes or lie backwards are refused") {
  CHECK(refusal_of(two_at("[0,2]", "[1,3]", 3)) ==
        "w.safetensors: a and b share bytes of the file: save the tensors again");
  CHECK(refusal_of(two_at("[0,2]", "[0,2]", 2)) ==
        "w.safetensors: a and b share bytes of the file: save the tensors again");
  CHECK(refusal_of(two_at("[3,5]", "[0,2]", 5)) ==
        "w.safetensors: 1 bytes before a belong to no tensor: save the tensors again");
  CHECK_THAT(refusal_of(two_at("[2,0]", "[2,4]", 4)), Contains("a lies at bytes 2 to 0"));
  CHECK_THAT(refusal_of(two_at("[0,2]", "[2,18446744073709551615]", 4)),
             Contains("b lies at bytes 2 to 18446744073709551615, and there are 4"));
}

TEST_CASE("a shape that does not fit its bytes is refused, however large") {
  CHECK(refusal_of(one("F64", "[2]", "12345678")) ==
        "w.safetensors: Q has 8 bytes of numbers, which does not fit shape [2] of F64: save the "
        "tensors again");
  CHECK_THAT(refusal_of(one("F64", "[4294967296,4294967296,1]", "12345678")),
             Contains("Q has 8 bytes of numbers, which does not fit shape"));
  CHECK(refusal_of(one("F32", "[3,0]", "")) ==
        "w.safetensors, Q: it holds no numbers: its shape 3×0 has a size of 0");
}

TEST_CASE("a broken safetensors header is refused") {
  const std::string again = ": save the tensors again";
  const auto header = [](const std::string& text) { return refusal_of(file(text)); };
  CHECK(header("{\"Q\":") == "w.safetensors: the header is no JSON" + again);
  CHECK(header(R"({"Q":1})") == "w.safetensors: the header of \"Q\" is not an object" + again);
  CHECK(header(R"({"Q":[1]})") == "w.safetensors: the header of \"Q\" is not an object" + again);
  CHECK(header(R"({"Q":{"shape":[1],"data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" has no dtype" + again);
  CHECK(header(R"({"Q":{"dtype":"U8","data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" has no shape" + again);
  CHECK(header(R"({"Q":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" has a shape that is not a list of whole numbers" +
            again);
  CHECK(header(R"({"Q":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" has a shape that is not a list of whole numbers" +
            again);
  CHECK(header(R"({"Q":{"dtype":"U8","shape":[1],"data_offsets":[0]}})") ==
        "w.safetensors: the header of \"Q\" needs two data_offsets, begin and end" + again);
  CHECK(header(R"({"Q":{"dtype":"U8","shape":[[[1]]],"data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" nests too deep" + again);
  CHECK(header(R"({"__metadata__":{"by":1}})") ==
        "w.safetensors: the header of \"__metadata__\" must hold texts only" + again);
  const std::string entry = R"("Q":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(header("{" + entry + "," + entry + "}") ==
        "w.safetensors: the header has \"Q\" twice" + again);
  std::string ones = "1";
  for (int i = 0; i < 100; ++i) ones += ",1";
  CHECK(header(R"({"Q":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})") ==
        "w.safetensors: the header of \"Q\" has too much in it" + again);
}

TEST_CASE("tensors are written as F64 in the order of their names, aligned to 8 bytes") {
  const Tensor a = tensor_of({1, 2}, {1.5, 0});
  const Tensor b = tensor_of({1}, {-INFINITY});
  std::string bytes;
  write_safetensors({{"b", b}, {"a", a}}, {{"lesson", "x"}},
                    [&](std::string_view piece) { bytes += piece; });
  const std::string header =
      R"({"__metadata__":{"lesson":"x"},"a":{"data_offsets":[0,16],"dtype":"F64","shape":[1,2]},)"
      R"("b":{"data_offsets":[16,24],"dtype":"F64","shape":[1]}})";
  const std::size_t padding = (8 - header.size() % 8) % 8;
  CHECK(bytes == file(header + std::string(padding, ' '), "\x00\x00\x00\x00\x00\x00\xf8\x3f"s +
                                                              std::string(8, '\0') +
                                                              "\x00\x00\x00\x00\x00\x00\xf0\xff"s));
  CHECK(values_of(read(bytes)[0].written) == Values{1.5, 0});
}

TEST_CASE("a dtype that is not known promises no more numbers than the file has bits") {
  CHECK(refusal_of(one("F4", "[1000000000000, 4]", "12345678")) ==
        "w.safetensors: Q has 8 bytes of numbers, which does not fit shape [1000000000000, 4] of "
        "F4: save the tensors again");
  CHECK(safetensors_index(one("F4", "[16]", "12345678"), "w").tensors[0].shape == Shape{16});
}

}  // namespace

}  // namespace formats_safetensors_tests
