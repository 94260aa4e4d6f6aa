#include "formats/arrays/foreign.hpp"

#include "text/strings.hpp"

namespace qkv {
namespace {

struct Kind {
  std::string_view beginning;
  std::string_view says;
};

constexpr std::string_view as_a_page =
    "this is a web page, not the file itself: download the file (on Hugging Face the address with "
    "/resolve/ in it, not /blob/)";

constexpr Kind kinds[] = {
    {"PK\x03\x04",
     "this is a zip, as torch.save and np.savez write it; write the tensors out with "
     "safetensors.torch.save_file"},
    {"version https://git-lfs",
     "this is a pointer of Git LFS, which stands for a file that was not fetched: fetch it with "
     "git "
     "lfs pull"},
    {"GGUF",
     "this is a GGUF file, as llama.cpp reads it; qkv reads the .safetensors files that it was "
     "converted from"},
    {"\x80\x02",
     "this is a pickle, as older torch.save wrote it; write the tensors out with "
     "safetensors.torch.save_file"},
    {"\x89HDF", "this is an HDF5 file, as Keras writes it; qkv reads .safetensors files"},
    {"{\"",
     "this is JSON; if it is model.safetensors.index.json, name it so and let the files that it "
     "lists stand beside it"},
    {"<!doctype html", as_a_page},
    {"<!DOCTYPE html", as_a_page},
    {"<html", as_a_page},
    {"<?xml", "this is XML, perhaps a server's message; download the file again"},
};

}  // namespace

std::string_view foreign_to_safetensors(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "\0\0\0\0"sv) return {};  // a header's length
  constexpr std::size_t enough = 64;
  const std::string_view start = trimmed(bytes.substr(0, enough));
  for (const Kind& kind : kinds) {
    if (start.starts_with(kind.beginning)) return kind.says;
  }
  return {};
}

}  // namespace qkv
