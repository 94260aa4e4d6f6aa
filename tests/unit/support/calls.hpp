#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/cell.hpp"
#include "ops/operation.hpp"

/// Operations called on matrices written out in a test, and their results read cell by cell.
namespace qkv::test {

using Rows = std::vector<std::vector<double>>;
using OptionMap = std::map<std::string, OptionValue>;

/// A matrix with unnamed axes. `matrix({})` has no rows and no columns.
Tensor matrix(const Rows& rows);

/// A vector: one axis.
Tensor vector(std::vector<double> values);

/// Matrices of one size as one tensor with a leading axis of that name: heads, a batch.
Tensor stack(const std::vector<Rows>& matrices, std::string_view axis = "head");

/// The tensor's axes named, outermost first.
Tensor named(Tensor tensor, const std::vector<std::string>& axes);

/// The tensor with labels on its rows and on its columns; none where the list is empty.
Tensor labelled(Tensor tensor, std::vector<std::string> rows,
                std::vector<std::string> columns = {});

/// Everything that one call of an operation points to, kept alive together. The operands are called
/// A, B, C, …; the step is called "step".
class Work {
 public:
  Work(std::string_view operation, std::vector<Tensor> inputs, const OptionMap& options = {},
       Environment environment = {});
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  const Operation& operation() const { return *operation_; }
  const Call& call() const { return call_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  Tensor result() const { return operation_->compute(call_); }

 private:
  const Operation* operation_;
  std::vector<Tensor> inputs_;
  std::vector<std::string> names_;
  Options options_;
  Environment environment_;
  Call call_;
};

/// The operation's result on these operands.
Tensor apply(std::string_view operation, std::vector<Tensor> inputs, const OptionMap& options = {},
             Environment environment = {});

/// The message of the InputError that the call throws; "no error" where it throws none.
std::string refusal(std::string_view operation, std::vector<Tensor> inputs,
                    const OptionMap& options = {}, Environment environment = {});

/// The text to tokenise, with a vocabulary or without.
Environment text_environment(std::string one, std::vector<std::string> vocabulary = {});
Environment texts(std::vector<std::string> several, std::vector<std::string> vocabulary = {});

/// The cell of a result that stands at `i` among its numbers, to be read as N.
template <class N>
Cell<N> cell_of(const Call& call, const Tensor& output, std::size_t i) {
  Cell<N> cell;
  cell.call = &call;
  cell.output = &output;
  const std::size_t size = output.rows() * output.columns();
  cell.matrix = i / size;
  cell.row = i % size / output.columns();
  cell.column = i % output.columns();
  return cell;
}

/// One of the matrices of a tensor, row by row.
Rows rows_of(const Tensor& tensor, std::size_t index = 0);

/// Where two matrices first differ by more than `within`, or that their sizes do; empty where they
/// agree. Infinities agree with themselves, NaN with nothing.
std::string difference(const Rows& got, const Rows& expected, double within = 0);

}  // namespace qkv::test
