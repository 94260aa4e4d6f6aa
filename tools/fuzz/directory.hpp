#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qkv::fuzz {

/// A directory of the fuzzer's own, for readers that look into one; it goes when the program ends.
class OwnDirectory {
 public:
  OwnDirectory();
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;
  ~OwnDirectory();

  void empty() const;

  /// A file of that name, or of what of it can be a name; none where the name is empty.
  void put(std::string_view name, std::string_view bytes) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace qkv::fuzz
