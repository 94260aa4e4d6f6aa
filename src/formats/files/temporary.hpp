#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "formats/files/unfinished.hpp"

namespace qkv {

/// A file being written beside the one that it is to become. It is locked as long as it is open:
/// what no one has locked was left behind by a program that was killed.
class Temporary {
 public:
  /// For the file that is to stand at `path`: it gets the mode of what stands there now. Throws
  /// InputError where none can be made.
  explicit Temporary(const std::filesystem::path& path);
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  /// Removes it, unless it has taken its place.
  ~Temporary();

  void append(std::string_view bytes) const;

  /// Syncs it and gives it the name that it was made for.
  void take_its_place();

 private:
  bool open_as(const std::filesystem::path& name);

  const std::filesystem::path& path_;
  std::filesystem::path name_;
  std::optional<WatchedName> watched_;
  int descriptor_ = -1;
  bool in_place_ = false;
};

/// Writes it all to a descriptor, and waits where that takes no more for now; the reason where it
/// fails, else 0.
int write_all(int descriptor, std::string_view bytes);

/// Whether a file has the name of a temporary.
bool is_temporary_name(std::string_view name);

}  // namespace qkv
