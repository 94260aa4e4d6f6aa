#include "formats/arrays/arrays.hpp"

#include <zlib.h>

#include <unordered_set>

#include "text/strings.hpp"

// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3 and 4.4.
// Readers rely on the central directory; local headers only locate the data.

// Written entries are stored, as by numpy.savez: numbers of full precision hardly compress.

namespace qkv::inline formats {
namespace {

/// The archive's name and wording for messages.
struct ZipPlace {
  const std::string& name;
  const ZipMessages& npz_messages;

  [[noreturn]] void refuse(std::string_view why) const { qkv::refuse(name, why); }
  [[noreturn]] void refuse_broken(std::string_view what) const {
    refuse(fmt::format("{}: {}", what, npz_messages.again));
  }
};

constexpr std::string_view entry_signature = "PK\x03\x04";
constexpr std::string_view directory_signature = "PK\x01\x02";
constexpr std::string_view end_signature = "PK\x05\x06";
constexpr std::string_view zip64_end_signature = "PK\x06\x06";
constexpr std::size_t entry_size = 30;
constexpr std::size_t directory_entry_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::size_t max_comment_bytes = 0xffff;
constexpr std::uint32_t exceeds_32_bits = 0xffffffff;
constexpr std::size_t exceeds_16_bits = 0xffff;
// Deflate's largest ratio is 1032.
constexpr std::size_t max_compression_ratio = 1032;

/// Integers in a zip are little-endian, of two or four bytes.
std::size_t two(std::string_view bytes, std::size_t at) {
  return from_little_endian(bytes.substr(at, 2));
}
std::size_t four(std::string_view bytes, std::size_t at) {
  return from_little_endian(bytes.substr(at, 4));
}

/// The offset of the end record: only a comment may follow it.
std::size_t end_of_directory(std::string_view bytes, const ZipPlace& where) {
  if (!bytes.starts_with("PK")) {
    where.refuse(
        fmt::format("this is not a {}: {}", where.npz_messages.kind, where.npz_messages.make));
  }
  const std::size_t furthest = std::min(bytes.size(), end_size + max_comment_bytes);
  for (std::size_t back = end_size; back <= furthest; ++back) {
    const std::size_t at = bytes.size() - back;
    if (bytes.substr(at, 4) == end_signature && two(bytes, at + 20) == back - end_size) return at;
  }
  where.refuse_broken("the archive has no directory, or was cut short");
}

/// Removes one entry from the front of the directory, and parses it.
ZipEntry take_entry(std::string_view& directory, const ZipPlace& where) {
  if (directory.size() < directory_entry_size || !directory.starts_with(directory_signature)) {
    where.refuse_broken("the archive's directory is broken");
  }
  const std::size_t name_length = two(directory, 28);
  const std::size_t size =
      directory_entry_size + name_length + two(directory, 30) + two(directory, 32);
  if (directory.size() < size) where.refuse_broken("the archive's directory is broken");
  ZipEntry entry{.name = std::string(directory.substr(directory_entry_size, name_length)),
                 .checksum = four(directory, 16),
                 .packed = four(directory, 20),
                 .unpacked = four(directory, 24),
                 .header = four(directory, 42)};
  const std::string name = printable(entry.name);
  if ((two(directory, 8) & 1) != 0)
    where.refuse(name + " is encrypted: save it without a password");
  const std::size_t method = two(directory, 10);
  if (method != 0 && method != 8) {
    where.refuse(fmt::format("{} is packed in a way that qkv does not read: {}", name,
                             where.npz_messages.plainly));
  }
  entry.method = static_cast<ZipMethod>(method);
  if (entry.packed == exceeds_32_bits || entry.unpacked == exceeds_32_bits ||
      entry.header == exceeds_32_bits) {
    where.refuse(name + " has more than 4 GB, more than is read");
  }
  directory.remove_prefix(size);
  return entry;
}

/// Locates the entry's data, which must precede the directory.
void locate(ZipEntry& entry, std::string_view before_directory, const ZipPlace& where) {
  const std::string lost = printable(entry.name) + " is not where the archive's directory says";
  if (entry.header > before_directory.size() ||
      before_directory.size() - entry.header < entry_size ||
      before_directory.substr(entry.header, 4) != entry_signature) {
    where.refuse_broken(lost);
  }
  const std::size_t name_length = two(before_directory, entry.header + 26);
  const std::size_t start =
      entry.header + entry_size + name_length + two(before_directory, entry.header + 28);
  if (start > before_directory.size() || before_directory.size() - start < entry.packed ||
      before_directory.substr(entry.header + entry_size, name_length) != entry.name) {
    where.refuse_broken(lost);
  }
  entry.data = before_directory.substr(start, entry.packed);
}

/// Overlapping entries would let a small archive unpack to a huge one.
void refuse_overlaps(const std::vector<ZipEntry>& entries, const ZipPlace& where) {
  auto by_place = mapped(entries, [](const ZipEntry& entry) { return &entry; });
  std::ranges::sort(by_place, {}, &ZipEntry::header);
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const ZipEntry& before = *by_place[i - 1];
    if (before.data.data() + before.data.size() >
        by_place[i]->data.data() - (entry_size + by_place[i]->name.size())) {
      where.refuse_broken(fmt::format("{} and {} share bytes of the archive",
                                      printable(before.name), printable(by_place[i]->name)));
    }
  }
}

struct Inflation : NotCopied {
  Inflation() {
    constexpr int raw_deflate = -MAX_WBITS;
    if (inflateInit2(&stream, raw_deflate) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { inflateEnd(&stream); }
  z_stream stream = {};
};

/// The first `most` bytes unpacked; never more than the stated size, whatever the data would give.
std::string first_bytes(const ZipEntry& entry, const ZipPlace& where, std::size_t most) {
  if (entry.method == ZipMethod::stored) return std::string(entry.data.substr(0, most));
  const std::string wrong = printable(entry.name) + " does not unpack to its size";
  if (entry.unpacked / max_compression_ratio > entry.packed) where.refuse_broken(wrong);
  std::string bytes(std::min(most, entry.unpacked + 1), '\0');  // one more, to detect surplus data
  Inflation inflation;
  z_stream& stream = inflation.stream;
  // zlib takes a pointer to non-const input, but does not write to it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(entry.data.data()));
  stream.avail_in = static_cast<uInt>(entry.data.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int status = inflate(&stream, Z_FINISH);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  const bool is_whole = status == Z_STREAM_END && stream.avail_in == 0;
  if (most > entry.unpacked && (!is_whole || stream.total_out != entry.unpacked)) {
    where.refuse_broken(wrong);
  }
  bytes.resize(stream.total_out);
  return bytes;
}

constexpr std::size_t version = 20;
constexpr std::size_t midnight = 0;
constexpr std::size_t first_of_1980 = 0x21;  // 1980-01-01, as in zipfile: the same bytes every day
constexpr std::size_t owner_reads_and_writes = 0600U << 16;

std::string two(std::size_t value) { return little_endian(value, 2); }
std::string four(std::size_t value) { return little_endian(value, 4); }

struct Member {
  std::string name;    ///< with ".npy"
  std::string header;  ///< of the .npy file; the tensor's values follow it
  const Tensor* tensor = nullptr;
  std::size_t checksum = 0;
  std::size_t place = 0;  ///< offset of its local header

  std::size_t size() const { return header.size() + tensor->values.size() * sizeof(double); }
  std::string local_header() const { return std::string(entry_signature) + common() + name; }
  std::string directory_entry() const {
    return std::string(directory_signature) + two(version) + common() + two(0) + two(0) + two(0) +
           four(owner_reads_and_writes) + four(place) + name;
  }

 private:
  /// The fields that both of an entry's headers share.
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

/// The entries with their offsets; above 4 GB the archive would need zip64.
std::vector<Member> laid_out(const std::vector<NamedTensor>& tensors) {
  std::vector<Member> entries;
  std::size_t place = 0;
  for (const NamedTensor& named : tensors) {
    Member entry{.name = named.name + ".npy",
                 .header = npy_header(named.tensor.shape()),
                 .tensor = &named.tensor,
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

constexpr ZipMessages npz_messages = {
    .kind = ".npz file",
    .make = "save the arrays with numpy.savez",
    .again = "save the arrays again with numpy.savez",
    .plainly = "save the arrays with numpy.savez or numpy.savez_compressed",
};
constexpr std::string_view array_extension = ".npy";

ParsedArray read_entry(const ZipEntry& entry, const std::string& name, const std::string& archive,
                       std::size_t most) {
  const std::string place = fmt::format("{}, {}", archive, printable(name));
  if (entry.unpacked > most) {  // a number takes a byte or more
    const std::string beginning = first_bytes(entry, {archive, npz_messages}, max_npy_header);
    if (auto shape = npy_surplus(beginning, entry.unpacked, place, most)) return *std::move(shape);
  }
  return read_npy(unpacked(entry, archive, npz_messages), place, most);
}

}  // namespace

std::vector<ZipEntry> zip_entries(std::string_view bytes, const std::string& name,
                                  const ZipMessages& messages) {
  const ZipPlace where{.name = name, .npz_messages = messages};
  const std::size_t end = end_of_directory(bytes, where);
  const std::size_t count = two(bytes, end + 10);
  const std::size_t size = four(bytes, end + 12);
  const std::size_t start = four(bytes, end + 16);
  if (count == exceeds_16_bits)
    where.refuse("there are more than 65534 entries, more than are read");
  const bool fits = two(bytes, end + 4) == 0 && two(bytes, end + 8) == count && start <= end &&
                    end - start >= size;
  // PyTorch puts zip64's end record between the directory and the end record, though it is small.
  const bool has_zip64 = fits && bytes.substr(start + size, 4) == zip64_end_signature;
  if (!fits || (end - start != size && !has_zip64)) {
    where.refuse_broken("the archive's directory is broken");
  }
  std::string_view directory = bytes.substr(start, size);
  std::vector<ZipEntry> entries;
  for (std::size_t i = 0; i < count; ++i) entries.push_back(take_entry(directory, where));
  if (!directory.empty()) where.refuse_broken("the archive's directory is broken");
  for (ZipEntry& entry : entries) locate(entry, bytes.substr(0, start), where);
  refuse_overlaps(entries, where);
  return entries;
}

std::string unpacked(const ZipEntry& entry, const std::string& name, const ZipMessages& messages) {
  const ZipPlace where{.name = name, .npz_messages = messages};
  if (entry.method == ZipMethod::stored && entry.packed != entry.unpacked) {
    where.refuse_broken(printable(entry.name) + " is stored with two different sizes");
  }
  std::string bytes = first_bytes(entry, where, SIZE_MAX);
  if (crc(0, bytes) != entry.checksum) {
    where.refuse_broken(printable(entry.name) + " is damaged: its checksum is not right");
  }
  return bytes;
}

void write_npz(const std::vector<NamedTensor>& tensors, const Sink& sink) {
  std::vector<Member> entries = laid_out(tensors);
  std::string directory;
  std::size_t end = 0;
  for (Member& entry : entries) {
    const Values& values = entry.tensor->values;
    entry.checksum = crc(0, entry.header);
    values.for_each_piece(
        [&](auto piece) { entry.checksum = crc(entry.checksum, bytes_of(piece)); });
    sink(entry.local_header() + entry.header);
    values.for_each_piece([&](auto piece) { sink(bytes_of(piece)); });
    directory += entry.directory_entry();
    end = entry.place + entry.local_header().size() + entry.size();
  }
  sink(directory + std::string(end_signature) + two(0) + two(0) + two(entries.size()) +
       two(entries.size()) + four(directory.size()) + four(end) + two(0));
}

std::vector<NamedArray> read_npz(std::string_view bytes, const std::string& where,
                                 const ReadOptions& wanted) {
  const std::vector<ZipEntry> entries = zip_entries(bytes, where, npz_messages);
  if (entries.empty()) refuse(where, "there are no arrays in it");
  std::size_t total = 0;
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(array_extension)) {
      refuse(where, printable(entry.name) + " is no .npy array: save the arrays with numpy.savez");
    }
    total += entry.unpacked;
    if (total > wanted.most_bytes) {
      refuse(where, "its arrays have more than {} bytes, the most that is read", wanted.most_bytes);
    }
  }
  std::vector<NamedArray> arrays;
  std::unordered_set<std::string> names;
  for (const ZipEntry& entry : entries) {
    std::string name = entry.name.substr(0, entry.name.size() - array_extension.size());
    if (!names.insert(name).second) {
      refuse(where, "two arrays are named {}: {}", printable(name), npz_messages.again);
    }
    if (!wanted.wants(name)) continue;
    ParsedArray written = read_entry(entry, name, where, wanted.most_of(name));
    arrays.push_back({std::move(name), std::move(written)});
  }
  return arrays;
}

}  // namespace qkv::inline formats
