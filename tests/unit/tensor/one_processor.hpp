#pragma once

#include <span>

/// The row kernels as they are compiled for one kind of processor.
struct RowKernels {
  const char* processor;
  bool runs_here;
  bool (*softmax_row)(std::span<const double>, std::span<double>);
  void (*tanh_row)(std::span<double>);
  bool (*all_finite)(std::span<const double>);
  double (*largest_magnitude)(std::span<const double>);
  bool (*has_nan)(std::span<const double>);
};

/// One for each kind that the program is compiled for, the plainest first.
std::span<const RowKernels> row_kernels_of_each_processor();
