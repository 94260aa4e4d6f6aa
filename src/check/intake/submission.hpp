#pragma once

#include "check/intake/step_names.hpp"

namespace qkv::inline check {

/// A matrix read from a file, and the step or given that the file name stands for.
struct SubmittedFile {
  std::string file;                       ///< for messages
  std::filesystem::path path = {};        ///< the file that was read
  std::string name;                       ///< the step or given
  std::vector<std::size_t> leading = {};  ///< from ".head-2": which matrix; empty for all
  ParsedArray written;
  bool is_arranged = false;  ///< its heads were put in front, where its sizes tell its axes apart
};

/// A learner's submission: a file, or a directory of files.
struct Submission {
  std::string name;  ///< the path as typed
  std::vector<SubmittedFile> files = {};
  std::vector<std::string> notes = {};       ///< messages about files that match no step or given
  std::vector<std::string> unreadable = {};  ///< why files of steps were not read
  std::optional<Manifest> list = {};         ///< the manifest, if the directory is an export
  std::string scheme = {};                   ///< whose names its arrays had, for the report
  std::set<std::size_t> used_maps = {};      ///< indices of maps that led to a step
};

/// Where a submission is: a path, and its files if that is a directory or an archive.
struct SubmissionPlace {
  std::filesystem::path path;
  std::vector<ListedFile> files = {};
};

/// Returns the submissions of a path: one for each of several folders that hold the same steps, and
/// for each folder beside them; of folders that hold different steps, all are one submission.
/// Throws InputError if a directory or an archive cannot be read.
std::vector<SubmissionPlace> submissions_in(const std::filesystem::path& path, const Trace& trace,
                                            const NameOptions& names = {});

/// Reads a submission. Two files with different numbers for one matrix are unreadable. Throws
/// InputError if nothing in it can be read and matches a step.
Submission read_submission(const SubmissionPlace& place, const Trace& trace,
                           const NameOptions& names = {});

/// Throws InputError if no submission used one of the maps. `what_has_none`: "PATH has no".
void refuse_unused_maps(const NameOptions& names, const std::set<std::size_t>& used,
                        const std::string& what_has_none);

/// Reads all of a path as one submission.
Submission read_submission(const std::filesystem::path& path, const Trace& trace);

}  // namespace qkv::inline check
