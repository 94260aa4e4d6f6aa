#pragma once

// toml++ as a reader of files that anybody may have written.

// Where a key must follow, as after "[[", it asserts (in a debug build) or tells Clang's optimiser
// (in a release build) that one does, before it looks: a file that has none would end the program
// or the language. Without either it looks.
#define TOML_ASSERT(expression) static_assert(true)

// Lists and tables that stand in each other are taken apart on the stack, one inside the other.
#define TOML_MAX_NESTED_VALUES 64

#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
