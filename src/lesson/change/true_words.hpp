#pragma once

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// The lesson without the words that were written for other numbers. `own` is what its file makes,
/// `now` what it makes since a person changed its text or a given. A step loses its title, and of
/// say and notice what is not marked to be true of others (still_true), where its matrix or one
/// that it is made of has other numbers, labels or another size, and where its prose has a live
/// number of such a matrix; where nothing is left, its operation's words stand there. A `general`
/// step keeps its title. What it asks at its end stays. `changed` is set in any case.
Lesson with_true_words(Lesson lesson, const Trace& own, const Trace& now);

}  // namespace qkv
