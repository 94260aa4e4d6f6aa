#include "formats/files/write_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>

#include "formats/files/read_file.hpp"
#include "text/strings.hpp"

namespace formats_write_file_tests {

namespace {

using namespace qkv;
namespace fs = std::filesystem;

/// An empty directory that goes when the test ends.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "qkv-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }

  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
  fs::path path;
};

template <class Action>
std::string refused_action(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("a file is written whole, and nothing else is left in its directory") {
  const Scratch scratch;
  write_atomically(scratch.path / "a.csv", "1,2\n");
  CHECK(read_bytes(scratch.path / "a.csv") == "1,2\n");
  CHECK(scratch.files() == 1);
}

TEST_CASE("a file that was there is replaced") {
  const Scratch scratch;
  write_atomically(scratch.path / "a.csv", "a long text before");
  write_atomically(scratch.path / "a.csv", "new");
  CHECK(read_bytes(scratch.path / "a.csv") == "new");
}

TEST_CASE("a link is replaced, and what it points to is left alone") {
  const Scratch scratch;
  write_atomically(scratch.path / "other", "precious");
  fs::create_symlink(scratch.path / "other", scratch.path / "a.csv");
  write_atomically(scratch.path / "a.csv", "new");
  CHECK(read_bytes(scratch.path / "other") == "precious");
  CHECK_FALSE(fs::is_symlink(scratch.path / "a.csv"));
}

TEST_CASE("a name as long as the system allows can be written") {
  const Scratch scratch;
  const std::string name(255, 'x');
  write_atomically(scratch.path / name, "1");
  CHECK(read_bytes(scratch.path / name) == "1");
}

TEST_CASE("a device is neither written to nor replaced") {
  for (const std::string device : {"/dev/null", "/dev/stdout", "/dev/fd/1"}) {
    CHECK_THAT(refused_action([&] { write_atomically(device, "1"); }),
               Catch::StartsWith(device + ": a pipe or a device is in the way of this file"));
  }
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a write that cannot be done says why and leaves nothing behind") {
  const Scratch scratch;
  const std::string directory = scratch.path.string();
  CHECK(refused_action([&] { write_atomically(scratch.path, "1"); }) ==
        directory + ": this is a directory: name a file in it");
  CHECK(refused_action([&] { write_atomically(scratch.path / "none" / "a.csv", "1"); }) ==
        directory + "/none/a.csv: its directory does not exist: make it first");
  CHECK(refused_action([&] { write_atomically(scratch.path / std::string(256, 'x'), "1"); }) ==
        directory + "/" + std::string(256, 'x') +
            ": the file cannot be written: File name too long");
  CHECK(scratch.files() == 0);
}

TEST_CASE("a signal in the middle of a write removes the temporary") {
  const Scratch scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    const std::string large(1 << 22, 'x');
    for (;;) write_atomically(scratch.path / "a.csv", large);  // until the signal comes
  }
  while (!fs::exists(scratch.path / "a.csv")) ::usleep(1000);
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  CHECK(fs::file_size(scratch.path / "a.csv") == 1 << 22);
  CHECK(scratch.files() == 1);
}

TEST_CASE("a directory is made with those above it, and again without complaint") {
  const Scratch scratch;
  make_directory(scratch.path / "a" / "b");
  make_directory(scratch.path / "a" / "b");
  CHECK(fs::is_directory(scratch.path / "a" / "b"));
}

TEST_CASE("a file in the way of a directory is refused") {
  const Scratch scratch;
  write_atomically(scratch.path / "a", "1");
  const std::string remedy =
      ": a file is in the way of this directory: remove it or name another directory";
  CHECK(refused_action([&] { make_directory(scratch.path / "a"); }) ==
        (scratch.path / "a").string() + remedy);
  CHECK(refused_action([&] { make_directory(scratch.path / "a" / "b"); }) ==
        (scratch.path / "a" / "b").string() + remedy);
}

TEST_CASE("a file is read by its extension") {
  const Scratch scratch;
  write_atomically(scratch.path / "a.csv", "1;2\n");
  write_atomically(scratch.path / "b.TSV", "1\t2\n");
  write_atomically(scratch.path / "c.txt", "tensor([[1., 2.]])\n");
  CHECK(read_array(scratch.path / "a.csv").shape == Shape{1, 2});
  CHECK(read_array(scratch.path / "b.TSV").shape == Shape{1, 2});
  CHECK(read_array(scratch.path / "c.txt").shape == Shape{1, 2});
}

TEST_CASE("a file that cannot be read says why") {
  const Scratch scratch;
  const std::string directory = scratch.path.string();
  write_atomically(scratch.path / "a.xlsx", "PK");
  CHECK(refused_action([&] { read_bytes(scratch.path / "none.csv"); }) ==
        directory + "/none.csv: there is no such file: check the name and the directory");
  CHECK(refused_action([&] { read_bytes(scratch.path); }) ==
        directory + ": this is a directory: name a file in it");
  CHECK(refused_action([&] { read_bytes(scratch.path / "a.xlsx", 1); }) ==
        directory + "/a.xlsx: the file has more than 1 bytes, the most that is read");
  CHECK(refused_action([&] { read_bytes("/dev/zero", 1 << 16); }) ==
        "/dev/zero: this is a device, which may have no end: name a file");
}

TEST_CASE("an unknown extension is refused with those that are known") {
  CHECK_THAT(refused_action([] { read_array("a.xlsx"); }),
             Catch::StartsWith(
                 "a.xlsx: \".xlsx\" is not a known extension: save the numbers as one of .csv"));
  CHECK_THAT(
      refused_action([] { read_array("scores"); }),
      Catch::StartsWith("scores: the name has no extension: save the numbers as one of .csv"));
}

}  // namespace

}  // namespace formats_write_file_tests
