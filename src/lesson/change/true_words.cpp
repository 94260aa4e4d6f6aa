#include "lesson/change/true_words.hpp"

#include <algorithm>

#include "lesson/prose.hpp"
#include "tensor/change.hpp"

namespace qkv {
namespace {

bool is_changed(const std::string& name, const Trace& own, const Trace& now) {
  const Tensor* before = own.find(name);
  const Tensor* after = now.find(name);
  if (before && after) return differs(*after, *before);
  return before || after || symbol(own, name) != symbol(now, name);
}

bool is_any_changed(const std::vector<std::string>& names, const Trace& own, const Trace& now) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return is_changed(name, own, now); });
}

bool is_untrue(const StepText& words, const Step& step, const Trace& own, const Trace& now) {
  return is_changed(step.name, own, now) || is_any_changed(step.of, own, now) ||
         is_any_changed(names_in(words.say.text), own, now) ||
         is_any_changed(names_in(words.notice.text), own, now);
}

// Whether the step is worked out in another way than the lesson's words say.
bool is_other_work(const Step& step, const Trace& own) {
  const Step* before = own.find_step(step.name);
  return before && (before->of != step.of || before->options.all() != step.options.all());
}

}  // namespace

Lesson with_true_words(Lesson lesson, const Trace& own, const Trace& now) {
  lesson.changed = true;
  const auto is_own = [&](const std::string& name) { return !is_changed(name, own, now); };
  for (const Step& step : now.steps) {
    StepText& words = lesson.texts[step.number - 1];
    if (is_other_work(step, own)) {
      words.title.clear();
      words.say.text.clear();
      words.notice.text.clear();
      continue;
    }
    if (!is_untrue(words, step, own, now)) continue;
    if (!words.general) words.title = words.otherwise.title;
    words.say.text = still_true(words.say.text, words.general, now, is_own);
    if (words.say.text.empty()) words.say.text = words.otherwise.say;
    words.notice.text = still_true(words.notice.text, words.general, now, is_own);
    if (words.notice.text.empty()) words.notice.text = words.otherwise.notice;
  }
  return lesson;
}

}  // namespace qkv
