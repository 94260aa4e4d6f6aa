#pragma once

namespace qkv::inline cli {

/// What a command does to files.
enum class FileAccess { reads, writes };

/// Has the kernel refuse this process, from now on, what qkv never does: start another program,
/// open a TCP connection, send a signal to or look into a process that was there before; and where
/// it only `reads`, also make, change, rename or remove any file, except through what is open
/// already. Whatever a hostile file brings about, it cannot go beyond that. Linux's Landlock does
/// it: a kernel that has none, or less of it, does what it can, and nothing is said. The
/// environment's QKV_UNCONFINED switches it off, for tools that write what they saw at the end.
void enter_sandbox(FileAccess use);

}  // namespace qkv::inline cli
