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

/// What lists a model's files where there are several.
inline constexpr std::string_view model_index_name = "model.safetensors.index.json";

/// Where a trained model's files are: its weights in one file or in several, and the directory of
/// what else is said of it.
struct ModelFiles {
  std::vector<std::filesystem::path> weights;  ///< in the order of their names
  std::filesystem::path directory;
  std::map<std::string, std::string> listed;  ///< the index: which file has which tensor; or empty
};

/// The files that `path` names: a .safetensors file, a model.safetensors.index.json, or a directory
/// with one of them. `where` opens messages. Throws InputError where there is none, where a
/// directory has several, and where files lack that an index lists.
ModelFiles model_files(const std::filesystem::path& path, const std::string& where);

/// Whether the name is that of an index of several files.
bool is_model_index(const std::string& path);

/// Where the matrices made of a tensor's numbers lie in it, as NumPy's strides say it: cell `j` of
/// line `i` of matrix `m` is its number first + m · matrix_step + i · line_step + j · cell_step.
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

/// A trained model's tensors by their names, in .safetensors files that are mapped into memory:
/// opening them costs the same whatever their size, and only the tensors that are asked for are
/// read. Large ones are not copied: their numbers are read in the file with each look.
class Weights {
 public:
  /// `where` is the model as messages name it. Throws InputError where a file can't be read, or is
  /// no .safetensors file, and where it has other tensors than the index of several files says.
  Weights(const ModelFiles& files, std::string where);

  /// The same of bytes that outlive this and all values that are read from it.
  Weights(std::string_view bytes, std::string where);
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  const std::string& where() const { return where_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }

  const SafetensorsEntry* find(std::string_view name) const;  ///< nullptr where there is none
  /// The numbers of the tensor, a vector or a matrix, as they stand or where `strides` finds them;
  /// they outlive this. The file must not be written to meanwhile: large ones are read again later.
  /// Throws InputError where there is none of this name and shape: the message says both shapes;
  /// and where one of the numbers is none, or infinite.
  Values values(const std::string& name, const Shape& shape) const;
  Values values(const std::string& name, const Shape& shape, const Strides& strides) const;
  /// Throws as above, without reading a number.
  const SafetensorsEntry& checked(const std::string& name, const Shape& shape) const;

 private:
  void list_names();
  void refuse_broken(const SafetensorsEntry& entry, const Dtype& dtype) const;
  const std::shared_ptr<const MappedFile>& file_of(const SafetensorsEntry& entry) const;

  std::string where_;
  std::vector<std::shared_ptr<const MappedFile>> files_;  ///< none where the bytes are built in
  std::vector<std::size_t> ends_;  ///< of each file: how many tensors it and those before it have
  std::vector<SafetensorsEntry> tensors_;
  std::map<std::string, std::string> metadata_;
  mutable std::set<const SafetensorsEntry*> checked_;
  std::map<std::string_view, const SafetensorsEntry*> by_name_;
};

}  // namespace qkv::inline model
