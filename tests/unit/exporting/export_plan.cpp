#include "exporting/export_plan.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lesson/library.hpp"
#include "text/strings.hpp"

namespace exporting_export_plan_tests {

namespace {

using namespace qkv;

std::vector<std::string> names_of(const ExportPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedFile& file : plan.files) names.push_back(file.name);
  return names;
}

ExportPlan plan(const LoadedLesson& loaded, const ExportOptions& options) {
  return export_plan(loaded.lesson, loaded.trace, options);
}

TEST_CASE("csv has a file for each head, npy one for the step, npz one for the lesson") {
  const LoadedLesson loaded = load_lesson("two-heads");
  CHECK(names_of(plan(loaded, {.only = {"scores", "W_O"}, .formats = {"csv,npy", "npz"}})) ==
        std::vector<std::string>{"given-W_O.csv", "08-scores.head-1.csv", "08-scores.head-2.csv",
                                 "given-W_O.npy", "08-scores.npy", "lesson.npz"});
}

TEST_CASE("the list of files says which hold a step, and nothing of what was left out") {
  const LoadedLesson loaded = load_lesson("two-heads");
  const ExportPlan made =
      plan(loaded, {.only = {"scores"}, .formats = {"npy", "json", "markdown"}});
  const auto list = nlohmann::json::parse(made.list({{"08-scores.npy", "0123"}}));
  CHECK(list["qkv"] == QKV_VERSION);
  CHECK(list["sha256"] == nlohmann::json({{"08-scores.npy", "0123"}}));
  CHECK(list["formats"] == nlohmann::json({"npy", "json", "markdown"}));
  CHECK(list["documents"] == nlohmann::json({"lesson.md"}));
  for (const auto& step : list["steps"]) {
    const bool wanted = step["name"] == "scores";
    CHECK(step["file"] ==
          (wanted ? nlohmann::json({"08-scores.npy", "lesson.json"}) : nlohmann::json()));
  }
  CHECK(list["givens"][0]["file"].is_null());
}

TEST_CASE("a format is written once, however often it is named") {
  const LoadedLesson loaded = load_lesson("toy-attention");
  CHECK(names_of(plan(loaded, {.formats = {"json", "json,json"}})) ==
        std::vector<std::string>{"lesson.json"});
}

TEST_CASE("every format that is written for programs is read, too") {
  for (const ExportFormat& format : export_formats()) {
    INFO(format.name);
    CHECK((format_named(format.name).read != nullptr) == !format.is_document);
  }
}

TEST_CASE("formats and steps that are not there are refused") {
  const LoadedLesson loaded = load_lesson("two-heads");
  CHECK_THROWS_WITH(plan(loaded, {.formats = {"npy,jsn"}}),
                    "there is no format \"jsn\"; did you mean \"json\"?");
  CHECK_THROWS_WITH(plan(loaded, {.formats = {"npy,"}}),
                    "there is no format \"\"; there are csv, npy, npz, json, safetensors, "
                    "markdown, latex");
  CHECK_THROWS_WITH(plan(loaded, {.only = {"score"}}),
                    "there is no matrix named \"score\"; did you mean \"scores\"?");
}

}  // namespace

}  // namespace exporting_export_plan_tests
