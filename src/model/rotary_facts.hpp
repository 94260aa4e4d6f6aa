#pragma once

#include "model/config.hpp"
#include "ops/options.hpp"

namespace qkv {

/// The options of `rope` that config.json tells of: its base (`rope_theta`) and how long texts are
/// scaled (`rope_scaling`, or both in `rope_parameters`), as Hugging Face means them. Throws
/// InputError for a scaling that qkv does not know, and for an entry of it that the scaling has
/// not.
Options rotary_options(const Facts& facts);

}  // namespace qkv
