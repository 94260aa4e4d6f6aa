#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/judge/judge.hpp"
#include "lesson/lesson.hpp"

namespace qkv {

/// One way to read a submission, and how it comes out.
struct Reading {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or that of an accepted convention
  std::vector<Handed> handed;
  Judgement judgement;
  std::vector<std::string> scaled;    ///< steps that a convention of early scaling has changed
  std::vector<std::string> permuted;  ///< steps whose columns were taken in another order
  bool counted_from_end = false;      ///< ALiBi's distances, by convention
  std::string_view units = {};        ///< the convention of other units that is accepted
  std::vector<std::string> in_other_units = {};  ///< and the steps that have them
  Turned turned = Turned::no;
  std::size_t wrong = 0;
};

/// The submission as it stands, unless a convention leaves fewer wrong cells. The lesson's trace
/// and the submission must outlive it.
Reading best_reading(const Lesson& lesson, const Trace& lesson_trace, const Submission& submission,
                     CheckOptions options);

}  // namespace qkv
