#pragma once

namespace qkv::inline cli {

/// Runs qkv with the arguments of main. The result is the exit status; InputError means 2.
int run_app(int argc, char** argv);

}  // namespace qkv::inline cli
