#include "formats/arrays/arrays.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formats/to_npy.hpp"
#include "text/strings.hpp"

namespace formats_npz_tests {

namespace {

using namespace qkv;
using Catch::Matchers::Contains;

std::string bytes_of(std::size_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string deflated(const std::string& data) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(data.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// One entry of an archive, with what the directory says of it.
struct Entry {
  std::string name;
  std::string packed;
  std::size_t unpacked;
  unsigned long checksum;
  std::size_t method;
};

Entry stored(const std::string& name, const std::string& data) {
  return {name, data, data.size(),
          crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()), 0};
}

Entry packed(const std::string& name, const std::string& data) {
  Entry entry = stored(name, data);
  entry.packed = deflated(data);
  entry.method = 8;
  return entry;
}

std::string archive(const std::vector<Entry>& entries) {
  std::string bytes;
  std::string directory;
  for (const Entry& entry : entries) {
    const std::string common = bytes_of(20, 2) + bytes_of(0, 2) + bytes_of(entry.method, 2) +
                               bytes_of(0, 4) + bytes_of(entry.checksum, 4) +
                               bytes_of(entry.packed.size(), 4) + bytes_of(entry.unpacked, 4) +
                               bytes_of(entry.name.size(), 2) + bytes_of(0, 2);
    directory += "PK\x01\x02" + bytes_of(20, 2) + common + bytes_of(0, 2) + bytes_of(0, 2) +
                 bytes_of(0, 2) + bytes_of(0, 4) + bytes_of(bytes.size(), 4) + entry.name;
    bytes += "PK\x03\x04" + common + entry.name + entry.packed;
  }
  const std::size_t start = bytes.size();
  return bytes + directory + "PK\x05\x06" + bytes_of(0, 4) + bytes_of(entries.size(), 2) +
         bytes_of(entries.size(), 2) + bytes_of(directory.size(), 4) + bytes_of(start, 4) +
         bytes_of(0, 2);
}

const std::string q = to_npy(tensor_of({1, 2}, {1, -0.5}));
const std::string scores = to_npy(tensor_of({2, 1, 1}, {3, 4}));

std::string refusal_of_archive(const std::string& bytes, std::size_t limit = max_unpacked_bytes) {
  try {
    read_npz(bytes, "all.npz", {.most_bytes = limit});
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("the arrays of an archive come with their names, stored or deflated") {
  const auto arrays = read_npz(archive({stored("Q.npy", q), packed("scores.npy", scores)}), "all");
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[0].name == "Q");
  CHECK(arrays[0].written.shape == Shape{1, 2});
  CHECK(arrays[0].written.cells[1].value == -0.5);
  CHECK(arrays[0].written.precision == Precision::float64);
  CHECK(arrays[1].name == "scores");
  CHECK(arrays[1].written.shape == Shape{2, 1, 1});
}

TEST_CASE("an archive cut short anywhere is refused") {
  const std::string whole = archive({stored("Q.npy", q), packed("scores.npy", scores)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_AS(read_npz(whole.substr(0, size), "all.npz"), InputError);
  }
}

TEST_CASE("no changed byte is read as if it were right") {
  const std::string whole = archive({stored("Q.npy", q), packed("scores.npy", scores)});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    try {
      const auto arrays = read_npz(changed, "all.npz");
      // What nobody looks at may differ: times, versions, and names, which say themselves.
      CHECK(arrays.at(0).written.cells[1].value == -0.5);
      CHECK(arrays.at(1).written.cells[1].value == 4);
    } catch (const InputError&) {
    }
  }
}

TEST_CASE("an entry that unpacks to more or less than its size is refused") {
  Entry more = packed("Q.npy", q);
  more.unpacked -= 1;
  CHECK(refusal_of_archive(archive({more})) ==
        "all.npz: Q.npy does not unpack to its size: save the arrays again with numpy.savez");
  Entry less = packed("Q.npy", q);
  less.unpacked += 1;
  CHECK_THAT(refusal_of_archive(archive({less})), Contains("does not unpack to its size"));
}

TEST_CASE("a size that no deflated data can have is refused before it is made room for") {
  Entry bomb = packed("Q.npy", q);
  bomb.unpacked = 1'000'000'000;
  CHECK_THAT(refusal_of_archive(archive({bomb})), Contains("does not unpack to its size"));
}

TEST_CASE("an archive of zeros that passes the limit is refused") {
  const std::string zeros(1'000'000, '\0');
  CHECK(refusal_of_archive(archive({packed("Q.npy", zeros), packed("K.npy", zeros)}), 1'500'000) ==
        "all.npz: its arrays have more than 1500000 bytes, the most that is read");
}

TEST_CASE("of an array with more numbers than are wanted, only the beginning is unpacked") {
  Entry zeros =
      packed("scores.npy", to_npy(tensor_of({50, 1000}, Values(std::vector<double>(50'000)))));
  zeros.checksum ^= 1;  // which only the whole tells
  const auto most = [](const std::string& name) { return name == "scores" ? 49'999U : 2U; };
  const auto arrays = read_npz(archive({zeros, stored("Q.npy", q)}), "all.npz", {.most = most});
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[0].written.shape == Shape{50, 1000});
  CHECK(arrays[0].written.cells.empty());
  CHECK(arrays[1].written.cells.size() == 2);
  const auto enough = [](const std::string&) { return 50'000U; };
  CHECK_THROWS_WITH(read_npz(archive({zeros}), "all.npz", {.most = enough}),
                    Contains("its checksum is not right"));
}

TEST_CASE("an array that is not wanted stays packed") {
  Entry damaged = packed("K.npy", q);
  damaged.checksum ^= 1;
  const auto only_q = [](const std::string& name) { return name == "Q"; };
  const auto arrays =
      read_npz(archive({damaged, stored("Q.npy", q)}), "all.npz", {.accepts = only_q});
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].name == "Q");
}

TEST_CASE("a wrong checksum is told") {
  Entry entry = stored("Q.npy", q);
  entry.checksum ^= 1;
  CHECK(refusal_of_archive(archive({entry})) ==
        "all.npz: Q.npy is damaged: its checksum is not right: save the arrays again with "
        "numpy.savez");
}

TEST_CASE("what is no archive of arrays is told in words") {
  CHECK(refusal_of_archive("1,2\n3,4\n") ==
        "all.npz: this is not a .npz file: save the arrays with numpy.savez");
  CHECK(refusal_of_archive("") ==
        "all.npz: this is not a .npz file: save the arrays with numpy.savez");
  CHECK(refusal_of_archive(archive({})) == "all.npz: there are no arrays in it");
  CHECK(refusal_of_archive(archive({stored("notes.txt", "hello")})) ==
        "all.npz: notes.txt is no .npy array: save the arrays with numpy.savez");
  CHECK_THAT(refusal_of_archive(archive({stored("Q.npy", q), stored("Q.npy", q)})),
             Contains("two arrays are named Q"));
  CHECK_THAT(refusal_of_archive(archive({stored("Q.npy", "hello")})),
             Contains("all.npz, Q: this is not a .npy file"));
}

TEST_CASE("arrays are written as numpy.savez writes them, the same bytes every time") {
  const Tensor one = tensor_of({1, 2}, {1, -0.5});
  const Tensor heads = tensor_of({2, 1, 1}, {3, 4});
  std::string bytes;
  write_npz({{"Q", one}, {"scores", heads}}, [&](std::string_view piece) { bytes += piece; });
  // Local header of the first entry: version 2.0, stored, dated 1980-01-01, sizes, name.
  CHECK(bytes.substr(0, 14) == "PK\x03\x04" + bytes_of(20, 2) + bytes_of(0, 2) + bytes_of(0, 2) +
                                   bytes_of(0, 2) + bytes_of(0x21, 2));
  CHECK(bytes.substr(18, 8) == bytes_of(q.size(), 4) + bytes_of(q.size(), 4));
  CHECK(bytes.substr(30, 5) == "Q.npy");
  CHECK(bytes.substr(35, q.size()) == q);
  const auto arrays = read_npz(bytes, "all.npz");
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[0].written.cells[1].value == -0.5);
  CHECK(arrays[1].name == "scores");
  CHECK(arrays[1].written.shape == Shape{2, 1, 1});
}

}  // namespace

}  // namespace formats_npz_tests
