#pragma once

#include <cstddef>
#include <optional>

namespace qkv {

/// How much memory there is, in bytes; nothing where the system does not say.
std::optional<std::size_t> memory_of_machine();

/// The most that the control group (a container, a systemd unit) that this process is in may take;
/// nothing where there is no such bound.
std::optional<std::size_t> memory_of_control_group();

/// The most address space that this process may have (`ulimit -v`, `ulimit -d`), likewise.
std::optional<std::size_t> address_space();

}  // namespace qkv
