#include "directory.hpp"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "target.hpp"

namespace qkv::fuzz {

OwnDirectory::OwnDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "qkv-fuzz-XXXXXX").string();
  law(::mkdtemp(name.data()) != nullptr, "there is room for a directory");
  path_ = name;
}

OwnDirectory::~OwnDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void OwnDirectory::empty() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove(entry.path());
  }
}

void OwnDirectory::put(std::string_view name, std::string_view bytes) const {
  constexpr std::size_t longest = 100;
  std::string file(name.substr(0, longest));
  std::ranges::replace(file, '/', '_');
  std::ranges::replace(file, '\0', '_');
  if (file.empty() || file == "." || file == "..") return;
  std::ofstream(path_ / file, std::ios::binary) << bytes;
}

}  // namespace qkv::fuzz
