#include "text/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/escape.hpp"
#include "text/number.hpp"

namespace qkv::inline text {

void append_json_number(std::string& text, double value, std::optional<int> digits) {
  constexpr int most_digits = 17;
  std::array<char, max_fixed_length(most_digits)> room;
  char* const end = digits ? write_fixed(room.data(), value, std::min(*digits, most_digits))
                           : write_shortest(room.data(), value);
  const bool is_word = !std::isfinite(value);
  if (is_word) text += '"';
  text.append(room.data(), end);
  if (is_word) text += '"';
}

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string json_document(const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  return sanitise_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace qkv::inline text
