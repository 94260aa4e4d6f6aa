#include "interactive/frame.hpp"

#include "interactive/stepper.hpp"
#include "lessons.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

std::string nowhere(const LoadedLesson&, const std::string&) { return "written"; }

// What a terminal sends, in pieces of a size that the first bytes choose with the window's.
void call(std::string_view bytes) {
  if (bytes.size() < 4) return;
  const auto number = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(bytes[i])};
  };
  Walkthrough walk = walkthrough(*small_lesson(), {0, small_lesson()->trace.steps.size() - 1},
                                 {.colour = number(0) % 2 == 0});
  Stepper stepper(std::move(walk), {}, nowhere);
  stepper.resize({.rows = number(2), .columns = number(1)});
  KeyDecoder decoder;
  const std::size_t piece = 1 + number(3);
  for (std::size_t at = 4; at < bytes.size() && !stepper.is_over(); at += piece) {
    decoder.feed(bytes.substr(at, piece));
    while (const auto key = decoder.next()) stepper.press(*key);
    if (const auto key = decoder.flush()) stepper.press(*key);
    stepper.frame();
  }
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
