#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

// For compilers without libFuzzer: calls the target once with each file of the directories that are
// named, or with random bytes: --random COUNT [FIRST], where each number from FIRST on stands for
// the same bytes on every machine. ./dev coverage --fuzz sees with it what the fuzzers reach.

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// What some targets mutate with; nothing is mutated here.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) {
  return size;
}

namespace {

volatile std::sig_atomic_t current = 0;

extern "C" void say_which(int) {
  std::fprintf(stderr, "failed with --random 1 %d\n", static_cast<int>(current));
  std::_Exit(1);
}

int run_random(int count, int first) {
  std::signal(SIGABRT, say_which);
  std::signal(SIGFPE, say_which);
  std::signal(SIGSEGV, say_which);
  for (int n = first; n < first + count; ++n) {
    current = n;
    std::mt19937 random(static_cast<std::mt19937::result_type>(n));
    std::string bytes(random() % 1024, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() >> 24);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%d\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  if (argc > 2 && std::string_view(argv[1]) == "--random") {
    return run_random(std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 1);
  }
  std::size_t runs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++runs;
    }
  }
  std::printf("%zu\n", runs);
}
