// Stands between a dynamically linked qkv and the C library, and has the n-th call of one kind fail
// as the system would: preloaded, with QKV_FAULT=KIND:N or, for that one and all after it, KIND:N+.
// Counting begins with main. How many calls of each kind there were goes to the
// descriptor QKV_COUNTS. Under AddressSanitizer (QKV_SHIM_ASAN) it stands before that one's
// allocator, so that what a failure leaks is found.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

// The C library's own, or the sanitizer's, by the names that it has besides: to look them up would
// itself allocate.
#ifdef QKV_SHIM_ASAN
#define REAL(function) __interceptor_##function
#else
#define REAL(function) __libc_##function
#endif
extern "C" {
void* REAL(malloc)(std::size_t);
void* REAL(calloc)(std::size_t, std::size_t);
void* REAL(realloc)(void*, std::size_t);
}

namespace {

enum Kind { alloc, open_, write_, sync_, rename_, close_, kinds };
constexpr const char* names[kinds] = {"alloc", "open", "write", "sync", "rename", "close"};
constexpr int errors[kinds] = {ENOMEM, ENFILE, ENOSPC, EIO, EIO, EIO};

std::atomic<long> counts[kinds];
bool counting = false;
int report = -1;
int faulty = kinds;
long place = 0;
bool all_after = false;

bool fails(Kind kind) {
  if (!counting) return false;
  const long count = ++counts[kind];
  if (kind != faulty || count < place || (count > place && !all_after)) return false;
  errno = errors[kind];
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

ssize_t raw_write(int descriptor, const void* bytes, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return real(descriptor, bytes, size);
}

// A stream's own writes don't pass by here, so standard output becomes one that asks us. Messages
// must arrive: standard error stays as it is.
ssize_t write_cookie(void*, const char* bytes, std::size_t size) {
  if (fails(write_)) return 0;
  const ssize_t written = raw_write(STDOUT_FILENO, bytes, size);
  return written < 0 ? 0 : written;
}

void read_order() {
  if (const char* descriptor = std::getenv("QKV_COUNTS")) report = std::atoi(descriptor);
  const char* order = std::getenv("QKV_FAULT");
  const char* colon = order == nullptr ? nullptr : std::strchr(order, ':');
  if (colon == nullptr) return;
  for (int kind = 0; kind < kinds; ++kind) {
    if (std::strncmp(order, names[kind], static_cast<std::size_t>(colon - order)) == 0)
      faulty = kind;
  }
  place = std::atol(colon + 1);
  all_after = order[std::strlen(order) - 1] == '+';
}

void tell_counts() {
  counting = false;
  char text[256];
  int size = 0;
  for (int kind = 0; kind < kinds; ++kind) {
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "%s %ld\n",
                          names[kind], counts[kind].load());
  }
  [[maybe_unused]] const ssize_t ignored = raw_write(report, text, static_cast<std::size_t>(size));
}

int (*real_main)(int, char**, char**) = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_order();
  const cookie_io_functions_t functions = {nullptr, write_cookie, nullptr, nullptr};
  stdout = fopencookie(nullptr, "w", functions);
  counting = true;
  const int status = real_main(argc, argv, environment);
  std::fflush(stdout);
  return status;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*loader_fini)(), void* stack_end) {
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, loader_fini,
                                          stack_end);
}

[[gnu::destructor]] void at_end() { tell_counts(); }

void _exit(int status) {
  tell_counts();
  next<void (*)(int)>("_exit")(status);
  std::abort();
}

void* malloc(std::size_t size) { return fails(alloc) ? nullptr : REAL(malloc)(size); }

void* calloc(std::size_t count, std::size_t size) {
  return fails(alloc) ? nullptr : REAL(calloc)(count, size);
}

void* realloc(void* old, std::size_t size) {
  return fails(alloc) ? nullptr : REAL(realloc)(old, size);
}

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  return fails(open_) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto real = next<int (*)(int, const char*, int, ...)>("openat");
  return fails(open_) ? -1 : real(folder, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* how) {
  static const auto real = next<std::FILE* (*)(const char*, const char*)>("fopen");
  return fails(open_) ? nullptr : real(path, how);
}

DIR* opendir(const char* path) {
  static const auto real = next<DIR* (*)(const char*)>("opendir");
  return fails(open_) ? nullptr : real(path);
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  if (descriptor != STDERR_FILENO && fails(write_)) return -1;
  return raw_write(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite");
  return fails(write_) ? -1 : real(descriptor, bytes, size, at);
}

ssize_t writev(int descriptor, const iovec* pieces, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (descriptor != STDERR_FILENO && fails(write_)) return -1;
  return real(descriptor, pieces, count);
}

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails(sync_) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return fails(sync_) ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails(rename_) ? -1 : real(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static const auto real = next<int (*)(int, const char*, int, const char*)>("renameat");
  return fails(rename_) ? -1 : real(from_folder, from, to_folder, to);
}

// Closed it is in any case.
int close(int descriptor) {
  static const auto real = next<int (*)(int)>("close");
  const bool faulty_one = fails(close_);
  const int closed = real(descriptor);
  if (!faulty_one) return closed;
  errno = errors[close_];
  return -1;
}
}

#ifdef QKV_SHIM_ASAN
// The sanitizer's own operators ask no malloc.
void* operator new(std::size_t size) {
  void* memory = malloc(size);
  if (memory != nullptr) return memory;
  if (const std::new_handler handler = std::get_new_handler()) handler();
  throw std::bad_alloc();
}

void* operator new[](std::size_t size) { return operator new(size); }

void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return malloc(size); }

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return malloc(size); }
#endif
