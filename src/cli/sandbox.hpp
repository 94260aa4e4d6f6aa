#pragma once

namespace qkv::inline cli {

/// How a command may use files.
enum class FileAccess { reads, writes };

/// Restricts this process with Linux's Landlock, so that a hostile file can do little harm. It may
/// not start programs, open TCP connections, or signal or inspect older processes. With
/// FileAccess::reads it may also not create, change, rename or remove files, except through open
/// descriptors. Older kernels enforce what they can, without a message. The environment variable
/// QKV_UNCONFINED disables it, for tools that write at exit.
void enter_sandbox(FileAccess use);

}  // namespace qkv::inline cli
