#pragma once

namespace qkv {

class OptionList;

/// Declares --no-sync, for a command that writes files.
void add_sync_option(OptionList& app);

}  // namespace qkv
