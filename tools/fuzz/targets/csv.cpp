#include "formats/handwork/csv.hpp"

#include "target.hpp"

namespace qkv::fuzz {
namespace {

// Read as it stands, as labelled, and as a column; then written and read back.
void call(std::string_view bytes) {
  const ParsedArray written = read_csv(bytes, "csv");
  sound(written);
  const std::size_t rows = written.shape[0];
  const std::size_t columns = written.shape[1];
  if (rows > 1 && columns > 1)
    sound(read_csv(bytes, "csv", {.expected = {{rows - 1, columns - 1}}}));

  const std::vector<double> numbers = numbers_of(written);
  CsvMatrix matrix{.rows = rows,
                   .columns = columns,
                   .values = numbers,
                   .row_labels = {written.row_labels.begin(), written.row_labels.end()},
                   .column_labels = {written.column_labels.begin(), written.column_labels.end()}};
  const ParsedArray again = read_csv(to_csv(matrix), "again", {.expected = {{rows, columns}}});
  law(same(written, again), "what is written reads back");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 512};

}  // namespace qkv::fuzz
