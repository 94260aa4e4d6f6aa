#include "exposition/exposition.hpp"
#include "exposition/selection.hpp"

namespace qkv::inline exposition {
namespace {

constexpr std::size_t max_drawn_lines = 24;  // of boxes with borders: one screen
constexpr std::size_t max_map_lines = 40;    // of a lesson with hundreds of steps
constexpr std::string_view arrow = " → ";

// The layer of a model's step or gradient: "h3" of "h3.scores" and "d_h3.scores"; else empty.
std::string_view layer_of_step(std::string_view name) {
  if (name.starts_with("d_")) name.remove_prefix(2);
  const std::size_t end = name.find_first_not_of("0123456789", 1);
  if (!name.starts_with('h') || end < 2 || end == name.npos || name[end] != '.') return {};
  return name.substr(0, end);
}

std::string in_layer(std::string name, std::string_view layer) {
  const std::string_view own = layer_of_step(name);
  return own.empty() ? name : name.replace(name.find(own), own.size(), layer);
}

bool has_tokens(const Tensor& tensor) {
  return std::ranges::any_of(tensor.axes, [](const Axis& axis) {
    return axis.name == "token" || axis.name == "query" || axis.name == "key";
  });
}

struct MapBuilder {
  const Trace& trace;
  LessonMap map = {};
  std::map<std::string, std::size_t, std::less<>> places = {};  // the box of a name
  std::set<std::string> layers = {};

  LessonMap built() && {
    for (const Step& step : trace.steps) add(step);
    map.layers = layers.size();
    return std::move(map);
  }

  void add(const Step& step) {
    const std::string layer(layer_of_step(step.name));
    if (!layer.empty() && layers.insert(layer).second && map.layer.empty()) map.layer = layer;
    if (const auto twin = places.find(in_layer(step.name, map.layer)); twin != places.end()) {
      places[step.name] = twin->second;  // a further layer
      return;
    }
    std::vector<std::size_t> from;
    if (step.of.empty()) from.push_back(place_of_text());
    const bool begins = std::ranges::none_of(
        step.of, [&](const std::string& name) { return places.contains(name); });
    for (std::size_t k = 0; k < step.of.size(); ++k) {
      const std::string& name = step.of[k];
      if (!needs_numbers(trace, step, k)) continue;
      if (!places.contains(name) && !add_given(name, begins && from.empty())) continue;
      const std::size_t place = places.at(name);
      if (!contains(from, place)) from.push_back(place);
    }
    add({.name = step.name,
         .shape = shown_shape(step.output, trace.token_layout),
         .from = std::move(from)});
  }

  // Adds a given if it is data: it has tokens, or a step begins with it. Weights and steps that
  // were released are not.
  bool add_given(const std::string& name, bool begins) {
    const Tensor* const tensor = trace.find(name);
    if (tensor == nullptr || (!begins && !has_tokens(*tensor))) return false;
    add({.name = name, .shape = shown_shape(*tensor, trace.token_layout)});
    return true;
  }

  std::size_t place_of_text() {
    if (!places.contains("")) add({.name = "text"}, "");
    return places.at("");
  }

  void add(MapBox box, std::optional<std::string> key = {}) {
    for (const std::size_t place : box.from) {
      map.boxes[place].to.push_back(map.boxes.size());
      box.column = std::max(box.column, map.boxes[place].column + 1);
    }
    box.start = box.from.empty() ? map.boxes.size() : map.boxes[box.from.front()].start;
    places[key.value_or(box.name)] = map.boxes.size();
    map.names.add(box.name);
    map.boxes.push_back(std::move(box));
  }
};

using Lines = std::vector<std::string>;

// The boxes that a box is computed from, but one.
std::string names_of_origins(const LessonMap& map, const MapBox& box,
                             std::optional<std::size_t> but = {}) {
  const auto counts = [&](std::size_t place) { return place != but; };
  const auto names =
      filtered(box.from, counts, [&](std::size_t place) { return map.boxes[place].name; });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::vector<std::size_t>> columns_of(const LessonMap& map) {
  std::vector<std::vector<std::size_t>> columns;
  for (std::size_t b = 0; b < map.boxes.size(); ++b) {
    columns.resize(std::max(columns.size(), map.boxes[b].column + 1));
    columns[map.boxes[b].column].push_back(b);
  }
  return columns;
}

// A column's boxes, one below the other: all lines are equally wide.
Lines drawn_column(const LessonMap& map, const std::vector<std::size_t>& places,
                   const std::vector<std::size_t>& before) {
  std::vector<Lines> inside;
  std::size_t room = 0;
  for (const std::size_t place : places) {
    const MapBox& box = map.boxes[place];
    Lines& lines =
        inside.emplace_back(Lines{box.name + (box.shape.empty() ? "" : " " + box.shape)});
    if (!box.from.empty() && box.from != before) lines.push_back("← " + names_of_origins(map, box));
    for (const std::string& line : lines) room = std::max(room, width(line));
  }
  const std::string edge = fmt::format("{:─<{}}", "", room + 2);
  Lines drawn;
  for (const Lines& lines : inside) {
    drawn.push_back(drawn.empty() ? "┌" + edge + "┐" : "├" + edge + "┤");
    for (const std::string& line : lines) drawn.push_back("│ " + padded_right(line, room) + " │");
  }
  drawn.push_back("└" + edge + "┘");
  return drawn;
}

// Columns of boxes side by side. An arrow leads to the first box of a column, and to each further
// box that names no origins: they are the first box's.
Lines joined_columns(const std::vector<Lines>& columns, bool goes_on) {
  std::size_t height = 0;
  for (const Lines& column : columns) height = std::max(height, column.size());
  Lines lines;
  for (std::size_t row = 0; row < height; ++row) {
    std::string line = " ";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto is_edge = [&](std::size_t at) {
        return at < columns[c].size() && !columns[c][at].starts_with("│");
      };
      const bool shares = row > 1 && is_edge(row - 1) && !is_edge(row) && is_edge(row + 1);
      line += c == 0 ? " " : row == 1 ? arrow : shares ? " ↳ " : "   ";
      line += row < columns[c].size() ? columns[c][row] : std::string(width(columns[c][0]), ' ');
    }
    if (goes_on && row == 1) line += " →";
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

// The map as columns of boxes in bands; empty if it is higher or wider than a screen.
Lines drawn_map(const LessonMap& map, std::size_t columns) {
  Lines lines;
  std::vector<Lines> band;
  std::size_t used = 0;
  std::vector<std::size_t> before;
  for (const std::vector<std::size_t>& places : columns_of(map)) {
    Lines column = drawn_column(map, places, before);
    const std::size_t needed = width(column[0]) + 3;
    if (needed + 2 > columns || lines.size() + column.size() > max_drawn_lines) return {};
    if (used + needed + 2 > columns) {
      std::ranges::move(joined_columns(band, true), std::back_inserter(lines));
      band.clear();
      used = 0;
    }
    used += needed;
    band.push_back(std::move(column));
    before = places;
  }
  std::ranges::move(joined_columns(band, false), std::back_inserter(lines));
  return lines.size() > max_drawn_lines ? Lines() : lines;
}

struct ChainWriter {
  const LessonMap& map;
  std::size_t columns;
  std::vector<bool> placed = std::vector<bool>(map.boxes.size());
  Lines written = {};

  Lines lines() && {
    for (std::size_t b = 0; b < map.boxes.size() && written.size() <= max_map_lines; ++b) {
      if (placed[b]) continue;
      const Lines chain = wrapped(chain_from(b), std::max<std::size_t>(columns, 16) - 4);
      for (std::size_t i = 0; i < chain.size(); ++i) {
        written.push_back((i == 0 ? "  " : "    ") + with_plain_blanks(chain[i]));
      }
    }
    if (written.size() > max_map_lines) {
      written.resize(max_map_lines);
      written.push_back(fmt::format("  … ({} boxes in all)", map.boxes.size()));
    }
    return std::move(written);
  }

  // A box, and each time the first box that then has all its origins above it or before it.
  std::string chain_from(std::size_t box) {
    const std::vector<std::size_t>& from = map.boxes[box].from;
    std::string text = from.empty() ? "" : map.boxes[from.front()].name + std::string(step_to);
    text += link(box, from.empty() ? std::nullopt : std::optional(from.front()));
    while (const auto next = next_of(box)) {
      text += std::string(step_to) + link(*next, box);
      box = *next;
    }
    return text;
  }

  std::optional<std::size_t> next_of(std::size_t box) const {
    for (const std::size_t next : map.boxes[box].to) {
      const auto is_placed = [&](std::size_t place) { return placed[place]; };
      if (!placed[next] && std::ranges::all_of(map.boxes[next].from, is_placed)) return next;
    }
    return {};
  }

  // `[scores 7×7] with Q`; lines do not end within the box.
  std::string link(std::size_t place, std::optional<std::size_t> after) {
    placed[place] = true;
    const MapBox& box = map.boxes[place];
    std::string text =
        fmt::format("[{}{}{}]", box.name, box.shape.empty() ? "" : no_break_space, box.shape);
    const std::string others = names_of_origins(map, box, after);
    return others.empty() ? text : fmt::format("{} with{}{}", text, no_break_space, others);
  }

  static constexpr std::string_view step_to = " →\u00a0";
};

constexpr std::string_view gap = "…";

// The place of one step, in the layer that it belongs to.
struct PlaceOnMap {
  const LessonMap& map;
  std::string_view step;
  std::string_view layer = layer_of_step(step);
  bool is_first = layer.empty() || layer == map.layer;
  std::size_t place =
      map.names.place(in_layer(std::string(step), map.layer)).value_or(map.boxes.size());

  // What does not fit is left out: the way here, the way on, the boxes beside.
  std::string line(std::size_t columns) const {
    if (place == map.boxes.size()) return {};
    std::vector<std::string> before = names_before();
    std::vector<std::string> after = names_after();
    if (before.empty() && after.empty()) return {};
    for (std::size_t beside = 5;;) {
      const std::string text =
          fmt::format("{}{}{}{}{}", fmt::join(before, arrow), before.empty() ? "" : arrow,
                      boxes_beside(beside), after.empty() ? "" : arrow, fmt::join(after, arrow));
      if (width(text) <= columns) return text;
      if (before.size() > 2) {
        const long cut = before[0] == gap ? 1 : 2;
        if (before[0] == gap || before[1] == gap) {
          before.erase(before.begin() + cut);
        } else {
          before[1] = gap;
        }
      } else if (after.size() > 1) {
        after = {std::string(gap)};
      } else if (beside > 1) {
        beside = 1;
      } else if (!before.empty() && before.back().find(", ") < before.back().rfind(", …")) {
        before.back().replace(before.back().find(", "), before.back().npos, ", …");
      } else {
        return shortened(text, columns);
      }
    }
  }

  // Outside of a further layer, the map's boxes are not the step's.
  std::string name_of(const MapBox& box) const {
    if (is_first) return box.name;
    return layer_of_step(box.name).empty() ? std::string(gap) : in_layer(box.name, layer);
  }

  std::vector<std::string> names_before() const {
    constexpr std::size_t most = 8;
    std::vector<std::string> names;
    const MapBox* box = &map.boxes[place];
    while (!box->from.empty() && names.size() < most) {
      box = &map.boxes[box->from.front()];
      names.push_back(is_first && names.empty() ? names_of_origins(map, map.boxes[place])
                                                : name_of(*box));
      if (names.back() == gap) break;
    }
    if (!box->from.empty() && names.back() != gap) {
      names.back() = gap;
      names.push_back(name_of(map.boxes[box->start]));
    }
    std::ranges::reverse(names);
    return names;
  }

  std::vector<std::string> names_after() const {
    constexpr std::size_t most = 2;
    std::vector<std::string> names;
    for (const MapBox* box = &map.boxes[place]; !box->to.empty();) {
      box = &map.boxes[box->to.front()];
      names.push_back(names.size() < most ? name_of(*box) : std::string(gap));
      if (names.back() == gap) break;
    }
    return names;
  }

  // The boxes with the same column and first origin, the step's own in brackets.
  std::string boxes_beside(std::size_t most) const {
    const MapBox& own = map.boxes[place];
    std::vector<std::size_t> beside;
    if (!own.from.empty()) {
      beside = filtered(map.boxes[own.from.front()].to, [&](std::size_t other) {
        const MapBox& box = map.boxes[other];
        return box.column == own.column && box.from.front() == own.from.front();
      });
    }
    if (beside.empty() || beside.size() > most) beside = {place};
    std::erase(beside, place);
    const auto others =
        mapped(beside, [&](std::size_t other) { return name_of(map.boxes[other]); });
    const std::string also =
        others.empty() ? "" : fmt::format(" (beside it: {})", fmt::join(others, ", "));
    return fmt::format("[{}]{}", name_of(own), also);
  }
};

}  // namespace

LessonMap map_of(const Trace& trace) { return MapBuilder{trace}.built(); }

std::string map_text(const LessonMap& map, std::size_t columns) {
  Lines lines = drawn_map(map, columns);
  std::string_view legend = "An arrow or ← shows what a box is made from.";
  std::string_view sign = "← ";
  if (lines.empty()) {
    lines = ChainWriter{map, columns}.lines();
    legend = "A [box] is made from the one before its arrow and those after \"with\".";
    sign = " with ";
  }
  const auto has_sign = [&](const std::string& line) { return line.find(sign) != line.npos; };
  if (std::ranges::any_of(lines, has_sign)) {
    for (const std::string& line : wrapped(legend, std::max<std::size_t>(columns, 16) - 2))
      lines.push_back("  " + line);
  }
  if (map.layers > 1) {
    lines.push_back(fmt::format("  {} stands for {} layers, one after the other: × {}", map.layer,
                                map.layers, map.layers));
  }
  return fmt::format("{}{}", fmt::join(lines, "\n"), lines.empty() ? "" : "\n");
}

std::string map_line(const LessonMap& map, std::string_view step, std::size_t columns) {
  return PlaceOnMap{map, step}.line(columns);
}

}  // namespace qkv::inline exposition
