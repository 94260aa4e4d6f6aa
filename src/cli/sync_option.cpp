#include "cli/sync_option.hpp"

#include "cli/option_list.hpp"
#include "formats/files/directory.hpp"

namespace qkv {

void add_sync_option(OptionList& app) {
  app.add_flag_callback("--no-sync", write_without_sync,
                        "Do not wait until what is written is safe on the disk");
}

}  // namespace qkv
