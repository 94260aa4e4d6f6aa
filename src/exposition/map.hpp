#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/strings.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

/// A box of a lesson's map: a step, a given that steps begin with, or the input text.
struct MapBox {
  std::string name;                    ///< "scores"; "text" for the input text
  std::string shape = {};              ///< as displayed: "7×7"; empty for the text
  std::vector<std::size_t> from = {};  ///< the boxes that it is computed from: arrows to it
  std::vector<std::size_t> to = {};    ///< the boxes that are computed from it
  std::size_t column = 0;              ///< the most arrows that lead here from a start
  std::size_t start = 0;               ///< where one ends that goes to first origins only
};

/// The steps of a lesson as boxes, in its order: each stands after those that it is computed from.
/// Weights have no boxes. Of a model's layers, the first stands for all that are built alike.
struct LessonMap {
  std::vector<MapBox> boxes;
  NameIndex names;         ///< of the boxes
  std::string layer = {};  ///< the layer that stands for all: "h0"; empty if there are no layers
  std::size_t layers = 0;  ///< how many layers there are
};

/// Returns the map of the trace's steps.
LessonMap map_of(const Trace& trace);

/// Returns the map as text, indented, of at most `columns` unless one box is wider: boxes side by
/// side if that takes few lines, else chains of boxes. A box names the boxes that it is computed
/// from, unless they are just those before it.
std::string map_text(const LessonMap& map, std::size_t columns);

/// Returns where a step is on the map: `text → … → X → [Q] (also K, V) → scores → …`. Each arrow is
/// one of the map; the step's own origins are all named, and the boxes beside it have the same
/// first origin. Empty if the step has no box.
std::string map_line(const LessonMap& map, std::string_view step, std::size_t columns);

}  // namespace qkv::inline exposition
