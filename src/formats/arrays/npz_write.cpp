#include <fmt/format.h>
#include <zlib.h>

#include <limits>

#include "formats/arrays/dtype.hpp"
#include "formats/arrays/little_endian.hpp"
#include "formats/arrays/npy.hpp"
#include "formats/arrays/npz.hpp"
#include "text/error.hpp"

// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, section 4.3. Entries are
// stored, as numpy.savez does: numbers of full precision hardly shrink.

namespace qkv {
namespace {

constexpr std::size_t version = 20;
constexpr std::size_t midnight = 0;
constexpr std::size_t first_of_1980 = 0x21;  // as zipfile writes it: the same bytes every day
constexpr std::size_t owner_reads_and_writes = 0600U << 16;

std::string two(std::size_t value) { return little_endian(value, 2); }
std::string four(std::size_t value) { return little_endian(value, 4); }

struct Member {
  std::string name;    ///< with ".npy"
  std::string header;  ///< of the .npy file; the tensor's values follow it
  const Tensor* tensor = nullptr;
  std::size_t checksum = 0;
  std::size_t place = 0;  ///< where its local header begins

  std::size_t size() const { return header.size() + tensor->values.size() * sizeof(double); }
  std::string local_header() const { return "PK\x03\x04" + common() + name; }
  std::string directory_entry() const {
    return "PK\x01\x02" + two(version) + common() + two(0) + two(0) + two(0) +
           four(owner_reads_and_writes) + four(place) + name;
  }

 private:
  /// What both of an entry's headers say alike.
  std::string common() const {
    constexpr std::size_t no_flags = 0;
    constexpr std::size_t stored = 0;
    return two(version) + two(no_flags) + two(stored) + two(midnight) + two(first_of_1980) +
           four(checksum) + four(size()) + four(size()) + two(name.size()) + two(0);
  }
};

std::size_t crc(std::size_t checksum, std::string_view bytes) {
  return crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

/// The entries with their places; beyond 4 GB the archive would need another kind of header.
std::vector<Member> laid_out(const std::vector<NamedTensor>& tensors) {
  std::vector<Member> entries;
  std::size_t place = 0;
  for (const NamedTensor& named : tensors) {
    Member entry{.name = named.name + ".npy",
                 .header = npy_header(named.tensor->shape()),
                 .tensor = named.tensor,
                 .place = place};
    place += entry.local_header().size() + entry.size();
    entries.push_back(std::move(entry));
  }
  if (place > std::numeric_limits<std::uint32_t>::max() || entries.size() > 0xfffe) {
    throw InputError(
        "these matrices are too large for one .npz file: it ends at 4 GB; write them as npy or "
        "safetensors");
  }
  return entries;
}

}  // namespace

void write_npz(const std::vector<NamedTensor>& tensors, const Sink& sink) {
  std::vector<Member> entries = laid_out(tensors);
  std::string directory;
  std::size_t end = 0;
  for (Member& entry : entries) {
    const Values& values = entry.tensor->values;
    entry.checksum = crc(0, entry.header);
    values.in_pieces([&](auto piece) { entry.checksum = crc(entry.checksum, bytes_of(piece)); });
    sink(entry.local_header() + entry.header);
    values.in_pieces([&](auto piece) { sink(bytes_of(piece)); });
    directory += entry.directory_entry();
    end = entry.place + entry.local_header().size() + entry.size();
  }
  sink(directory + "PK\x05\x06" + two(0) + two(0) + two(entries.size()) + two(entries.size()) +
       four(directory.size()) + four(end) + two(0));
}

}  // namespace qkv
