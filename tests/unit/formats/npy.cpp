#include "formats/arrays/arrays.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>
#include <xtensor/xnpy.hpp>

#include "formats/to_npy.hpp"
#include "tensor/tensor.hpp"
#include "text/strings.hpp"

namespace formats_npy_tests {

namespace {

using namespace qkv;
using namespace std::string_literals;

using Values = std::vector<double>;

/// A version 1.0 file with this header and these numbers.
std::string file(const std::string& header, const std::string& numbers) {
  return "\x93NUMPY\x01\x00"s + static_cast<char>(header.size()) + '\x00' + header + numbers;
}

std::string header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

struct NpyArray {
  Tensor tensor;
  Precision precision;
};

NpyArray read(const std::string& bytes) {
  const ParsedArray array = read_npy(bytes, "Q.npy");
  return {tensor_of(array.shape, array.cells.values()), array.precision};
}

std::string refusal_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

// The bytes of the numbers are those that numpy.ndarray.tobytes gives.

TEST_CASE("floats are read in both byte orders") {
  const std::string one_and_a_half = "\x00\x00\x00\x00\x00\x00\xf8\x3f"s;
  CHECK(read(file(header("<f8", "(1,)"), one_and_a_half)).tensor.values == Values{1.5});
  CHECK(read(file(header(">f8", "(1,)"), "\x3f\xf8\x00\x00\x00\x00\x00\x00"s)).tensor.values ==
        Values{1.5});
  CHECK(read(file(header("<f4", "(2,)"), "\x00\x00\xc0\x3f\x00\x00\x80\xff"s)).tensor.values ==
        Values{1.5, -infinity});
  CHECK(read(file(header(">f4", "(1,)"), "\x3f\xc0\x00\x00"s)).tensor.values == Values{1.5});
}

TEST_CASE("half floats are read: normal, subnormal, largest and infinite") {
  const std::string bytes = "\x00\x3e\x01\x00\xff\x7b\x00\xfc\x00\x80"s;
  CHECK(read(file(header("<f2", "(5,)"), bytes)).tensor.values ==
        Values{1.5, 5.960464477539063e-08, 65504, -infinity, 0});
  CHECK(read(file(header(">f2", "(1,)"), "\x3e\x00"s)).tensor.values == Values{1.5});
}

TEST_CASE("whole numbers and truth values are read") {
  CHECK(read(file(header("|i1", "(2,)"), "\xff\x05"s)).tensor.values == Values{-1, 5});
  CHECK(read(file(header("|u1", "(1,)"), "\xff"s)).tensor.values == Values{255});
  CHECK(read(file(header("<i2", "(1,)"), "\xfe\xff"s)).tensor.values == Values{-2});
  CHECK(read(file(header(">i4", "(1,)"), "\x00\x00\x01\x00"s)).tensor.values == Values{256});
  CHECK(read(file(header("<i8", "(1,)"), "\xf9\xff\xff\xff\xff\xff\xff\xff"s)).tensor.values ==
        Values{-7});
  CHECK(read(file(header("<u8", "(1,)"), "\x00\x00\x00\x00\x01\x00\x00\x00"s)).tensor.values ==
        Values{4294967296});
  CHECK(read(file(header("|b1", "(2,)"), "\x01\x00"s)).tensor.values == Values{1, 0});
}

TEST_CASE("the precision is that of the file; whole numbers are exact digits") {
  CHECK(read(file(header("<f8", "()"), std::string(8, '\0'))).precision == Precision::float64);
  CHECK(read(file(header("<f4", "()"), std::string(4, '\0'))).precision == Precision::float32);
  CHECK(read(file(header("<f2", "()"), std::string(2, '\0'))).precision == Precision::float16);
  CHECK(read(file(header("<i8", "()"), std::string(8, '\0'))).precision == Precision::digits);
}

TEST_CASE("any rank is read") {
  CHECK(read(file(header("|u1", "()"), "\x07"s)).tensor.shape() == Shape{1});
  CHECK(read(file(header("|u1", "(2, 1, 3)"), "123456"s)).tensor.shape() == Shape{2, 1, 3});
}

TEST_CASE("Fortran order is turned into C order") {
  const std::string fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  CHECK(read(file(fortran, "\x01\x04\x02\x05\x03\x06"s)).tensor.values == Values{1, 2, 3, 4, 5, 6});
  const std::string cube = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }\n";
  CHECK(read(file(cube, "\x01\x05\x03\x07\x02\x06\x04\x08"s)).tensor.values ==
        Values{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("versions 2 and 3 have a longer header") {
  const std::string text = header("|u1", "(1,)");
  const std::string rest =
      std::string(1, static_cast<char>(text.size())) + "\0\0\0"s + text + "\x07";
  CHECK(read("\x93NUMPY\x02\x00"s + rest).tensor.values == Values{7});
  CHECK(read("\x93NUMPY\x03\x00"s + rest).tensor.values == Values{7});
}

TEST_CASE("of more numbers than are wanted only the shape is read, from the file's beginning") {
  const std::string whole = file(header("<f8", "(2, 3)"), std::string(48, '\x01'));
  CHECK(read_npy(whole, "Q.npy", 6).cells.size() == 6);
  CHECK(read_npy(whole, "Q.npy", 5).shape == Shape{2, 3});
  CHECK(read_npy(whole, "Q.npy", 5).cells.empty());
  const std::string beginning = whole.substr(0, whole.size() - 48);
  CHECK(npy_surplus(beginning, whole.size(), "Q.npy", 5)->shape == Shape{2, 3});
  CHECK_FALSE(npy_surplus(beginning, whole.size(), "Q.npy", 6));
  CHECK_THROWS_WITH(npy_surplus(beginning, whole.size() + 8, "Q.npy", 5),
                    "Q.npy: shape 2×3 needs 48 bytes of numbers, the file has 56: save the array "
                    "again");
}

TEST_CASE("in numbers that were handed in, NaN is a number") {
  const ParsedArray written = read_npy(file(header("<f4", "(1, 1)"), "\x00\x00\xc0\x7f"s), "Q.npy");
  CHECK(written.shape == Shape{1, 1});
  CHECK(std::isnan(written.cells[0].value));
  CHECK_FALSE(written.cells[0].is_blank());
  CHECK(written.cells[0].decimals == 0);
}

TEST_CASE("a file of the wrong length is refused") {
  CHECK(refusal_of(file(header("<f8", "(2, 2)"), std::string(31, '\0'))) ==
        "Q.npy: shape 2×2 needs 32 bytes of numbers, the file has 31: save the array again");
  CHECK(refusal_of(file(header("<f8", "(2, 2)"), std::string(33, '\0'))) ==
        "Q.npy: shape 2×2 needs 32 bytes of numbers, the file has 33: save the array again");
  CHECK(refusal_of("\x93NUMPY\x01\x00\x76\x00{'descr'"s) ==
        "Q.npy: the file ends inside its header: save the array again");
}

TEST_CASE("a shape too large for memory is refused before any is taken") {
  CHECK(
      refusal_of(file(header("<f8", "(99999999999999999999, 9)"), "")) ==
      "Q.npy: an array of 281474976710656×9 numbers is too large: 3e+15 numbers take 18874368 GiB, "
      "and qkv may use 8 GiB (1073741824 numbers): make it smaller");
  CHECK(refusal_of(file(header("<f8", "(0, 3)"), "")) ==
        "Q.npy: the array holds no numbers: its shape 0×3 has a size of 0");
}

TEST_CASE("what does not hold numbers is refused") {
  CHECK(refusal_of(file(header("|O", "(1,)"), "x")) ==
        "Q.npy: the array holds Python objects, not numbers that qkv reads: save "
        "array.astype(\"float64\")");
  CHECK(refusal_of(file(header("<c16", "(1,)"), std::string(16, '\0'))) ==
        "Q.npy: the array holds dtype \"<c16\", not numbers that qkv reads: save "
        "array.astype(\"float64\")");
  CHECK(refusal_of(file("{'descr': [('a', '<f8')], 'shape': (1,), }", "")) ==
        "Q.npy: the array holds records, not numbers: save one field of it");
}

TEST_CASE("a broken header is refused") {
  const std::string broken =
      "Q.npy: the .npy header is broken: save the array again with numpy.save";
  CHECK(refusal_of(file("{'descr': '<f8', 'fortran_order': False, }", "")) == broken);
  CHECK(refusal_of(file("{'descr': '<f8', 'shape': (-1,), }", "")) == broken);
  CHECK(refusal_of(file("", "")) == broken);
  CHECK(refusal_of("1,2\n") == "Q.npy: this is not a .npy file: save the array with numpy.save");
  CHECK(refusal_of("\x93NUMPY\x09\x00"s) ==
        "Q.npy: version 9 of the .npy format is unknown: qkv reads 1, 2 and 3");
}

TEST_CASE("a tensor is written as numpy.save writes it") {
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
  CHECK(to_npy(tensor_of({1, 2}, {1.5, 0})) ==
        "\x93NUMPY\x01\x00\x76\x00"s + text + std::string(117 - text.size(), ' ') + "\n" +
            "\x00\x00\x00\x00\x00\x00\xf8\x3f"s + std::string(8, '\0'));
  CHECK(to_npy(tensor_of({3}, {1, 2, 3})).find("'shape': (3,), }") != std::string::npos);
}

TEST_CASE("what is written comes back") {
  const Tensor tensor = tensor_of({2, 1, 2}, {1, -0.5, infinity, 5e-324});
  const NpyArray back = read(to_npy(tensor));
  CHECK(back.tensor.shape() == Shape{2, 1, 2});
  CHECK(back.tensor.values == Values{1, -0.5, infinity, 5e-324});
}

}  // namespace

// A second opinion: xtensor's own reader and writer of the format.

TEST_CASE("what is written here is read alike by xtensor, and the reverse") {
  const Tensor tensor = tensor_of({2, 2, 3}, {1, -2.5, 1e-300, 0, 5, 6, 7, 8, 9, 10, 0.1, 12});
  std::istringstream written(to_npy(tensor));
  const auto seen = xt::load_npy<double>(written);
  CHECK(std::ranges::equal(seen, tensor.values));

  const xt::xtensor<double, 3> array = tensor.array();
  std::ostringstream file;
  xt::detail::dump_npy_stream(file, array);
  const NpyArray back = read(file.str());
  CHECK(back.tensor.shape() == tensor.shape());
  CHECK(back.tensor.values == tensor.values);
}

TEST_CASE(
    "column-major arrays of three axes are read into row-major order, as xtensor reads them") {
  const xt::xtensor<double, 3, xt::layout_type::column_major> array = {{{1, 2, 3}, {4, 5, 6}},
                                                                       {{7, 8, 9}, {10, 11, 12}}};
  std::ostringstream file;
  xt::detail::dump_npy_stream(file, array);
  const Tensor read_back = read(file.str()).tensor;
  CHECK(read_back.shape() == Shape{2, 2, 3});
  CHECK(std::vector<double>(read_back.values.begin(), read_back.values.end()) ==
        std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

}  // namespace formats_npy_tests
