#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

struct ExportOptions {
  bool plain = false;                  ///< numbers only, no labels
  std::optional<int> digits = {};      ///< decimals; without it all digits that a double needs
  std::vector<std::string> only = {};  ///< these steps and givens; empty for everything
};

/// One file of an export: its name in the directory, and what it holds.
struct ExportedFile {
  std::string name;
  std::string bytes;
};

/// What the files of a given or a step are called, without extension: "given-W_Q", "06-scores".
std::string exported_stem(const Given& given);
std::string exported_stem(const Trace& trace, const Step& step);

/// What follows the stem for one matrix of several: ".head-1", ".batch-2.head-1".
std::string exported_suffix(const Tensor& tensor, std::size_t index);

/// Hands each CSV file of the trace to `take`, one after the other: the givens
/// (`given-W_Q.csv`), the steps (`06-scores.csv`, `06-scores.head-1.csv`), and last, when nothing
/// was left out, `00-lesson.json`, which says what each of them is. Throws InputError for a name in
/// `only` that the trace does not have.
void export_csv(const Lesson& lesson, const Trace& trace, const ExportOptions& options,
                const std::function<void(ExportedFile)>& take);

}  // namespace qkv
