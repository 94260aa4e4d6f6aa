#pragma once

#include <string_view>

namespace qkv {

/// The words of one of a model's steps; they live as long as the program.
struct ModelWords {
  std::string_view title;
  std::string_view say;
  std::string_view notice;
};

}  // namespace qkv
