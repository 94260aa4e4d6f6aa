#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/arrays/safetensors.hpp"
#include "formats/files/read_file.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline model {

/// The name of the index of a model in several files.
inline constexpr std::string_view model_index_name = "model.safetensors.index.json";

/// The files of a trained model: its weights in one or several files, and the directory with its
/// configuration.
struct ModelFiles {
  std::vector<std::filesystem::path> weights;  ///< sorted by name
  std::filesystem::path directory;
  std::map<std::string, std::string> listed;  ///< the index: tensor → file; or empty
};

/// Returns the files of a model: `path` is a .safetensors file, a model.safetensors.index.json, or
/// a directory with one of them. `where` opens messages. Throws InputError if there is none, if a
/// directory has several, or if listed files are missing.
ModelFiles model_files(const std::filesystem::path& path, const std::string& where);

/// True if the name is that of an index of several files.
bool is_model_index(const std::string& path);

/// The positions of matrices in a tensor, like NumPy's strides. Cell `j` of line `i` of matrix `m`
/// is number first + m · matrix_step + i · line_step + j · cell_step.
struct Strides {
  std::size_t matrices = 1;
  std::size_t lines = 1;
  std::size_t width = 0;
  std::size_t first = 0;
  std::size_t matrix_step = 0;
  std::size_t line_step = 0;
  std::size_t cell_step = 1;

  std::size_t count() const { return matrices * lines * width; }
  std::size_t place(std::size_t line) const {
    return first + line / lines * matrix_step + line % lines * line_step;
  }
};

/// A model's tensors in memory-mapped .safetensors files. Opening costs the same for any size, and
/// only requested tensors are read. Large ones are not copied: each use reads them from the file.
class Weights {
 public:
  /// `where` names the model in messages. Throws InputError if a file can't be read or is no
  /// .safetensors file, or if its tensors differ from the index.
  Weights(const ModelFiles& files, std::string where);

  /// The same for bytes, which must outlive this and all values read from it.
  Weights(std::string_view bytes, std::string where);
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const std::string& where() const { return where_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }

  const SafetensorsEntry* find(std::string_view name) const;  ///< nullptr if there is none
  /// Returns the numbers of a vector or matrix, in file order or by `strides`; they outlive this.
  /// The file must not change meanwhile: large tensors are read again later. Throws InputError if
  /// no tensor has this name and shape (with both shapes), or a number is NaN or infinite.
  Values values(const std::string& name, const Shape& shape) const;
  Values values(const std::string& name, const Shape& shape, const Strides& strides) const;
  /// Returns the entry after the same checks, but reads no number.
  const SafetensorsEntry& checked(const std::string& name, const Shape& shape) const;

 private:
  void list_names();
  void refuse_broken(const SafetensorsEntry& entry, const Dtype& dtype) const;
  const std::shared_ptr<const MappedFile>& file_of(const SafetensorsEntry& entry) const;

  std::string where_;
  std::vector<std::shared_ptr<const MappedFile>> files_;  ///< empty if built in
  std::vector<std::size_t> ends_;  ///< for each file, the number of tensors up to its end
  std::vector<SafetensorsEntry> tensors_;
  std::map<std::string, std::string> metadata_;
  mutable std::set<const SafetensorsEntry*> checked_;
  std::map<std::string_view, const SafetensorsEntry*> by_name_;
};

}  // namespace qkv::inline model
