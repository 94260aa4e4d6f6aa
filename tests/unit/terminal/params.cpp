#include "terminal/model_views.hpp"

#include <catch2/catch.hpp>

#include "text/strings.hpp"

namespace terminal_params_tests {

using qkv::attention_cells;
using qkv::bytes_text;
using qkv::parameters_of;
using qkv::params_json;
using qkv::params_text;
using qkv::StackCount;
using qkv::StackSizes;

namespace {

constexpr StackSizes gpt3{.d_model = 12288, .d_k = 128, .d_v = 128, .heads = 96, .layers = 96};
constexpr StackSizes tiny{.d_model = 4, .d_k = 2, .d_v = 3, .heads = 2, .layers = 5};

}  // namespace

TEST_CASE("GPT-3's attention, to the last parameter") {
  const StackCount count = parameters_of(gpt3);
  for (const auto& matrix : count.matrices) CHECK(matrix.count == 1'572'864);  // 12,288 · 128
  CHECK(count.head == 6'291'456);                                              // · 4
  CHECK(count.layer == 603'979'776);                                           // · 96
  CHECK(count.all == 57'982'058'496);                                          // · 96
}

TEST_CASE("values may be wider than keys, and the way up is as large as the way down") {
  const StackCount count = parameters_of(tiny);
  REQUIRE(count.matrices.size() == 4);
  CHECK(count.matrices[0].name == "W_Q");
  CHECK(count.matrices[0].count == 8);
  CHECK(count.matrices[1].count == 8);
  CHECK(count.matrices[2].also == "value-down");
  CHECK(count.matrices[2].count == 12);
  CHECK(count.matrices[3].also == "value-up");
  CHECK(count.matrices[3].rows == 3);
  CHECK(count.matrices[3].columns == 4);
  CHECK(count.head == 40);
  CHECK(count.layer == 80);
  CHECK(count.all == 400);
}

TEST_CASE("a pattern has a cell for each query and key, in every head of every layer") {
  CHECK(attention_cells(3, tiny).cells == 9);
  CHECK(attention_cells(3, tiny).all_cells == 90);
  CHECK(attention_cells(1'048'576, gpt3).cells == 1'099'511'627'776);
  CHECK(attention_cells(1'048'576, gpt3).all_cells == 10'133'099'161'583'616);
}

TEST_CASE("the usual contexts go from 1,024 to 1,048,576 by twos") {
  const auto contexts = qkv::standard_contexts();
  CHECK(contexts.size() == 11);
  CHECK(contexts.front() == 1024);
  CHECK(contexts[1] == 2048);
  CHECK(contexts.back() == 1'048'576);
}

TEST_CASE("a count beyond 64 bits is refused, not wrapped around") {
  CHECK_THROWS_WITH(parameters_of({.d_model = 10'000'000'000, .d_k = 10'000'000'000, .d_v = 1}),
                    "10,000,000,000 × 10,000,000,000 parameters are more than "
                    "18,446,744,073,709,551,615, the most "
                    "that qkv params counts to; use smaller sizes");
  CHECK_THROWS_AS(attention_cells(10'000'000'000, tiny), qkv::InputError);
  CHECK_THROWS_AS(attention_cells(4'000'000'000, tiny),
                  qkv::InputError);  // the cells fit, not all heads'
  CHECK_THROWS_AS(qkv::bytes_of(10'000'000'000'000'000'000u, qkv::number_types[0]),
                  qkv::InputError);
}

TEST_CASE("bytes are said in powers of 1024") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(4'194'304) == "4 MiB");
  CHECK(bytes_text(231'928'233'984) == "216 GiB");
  CHECK(bytes_text(1'048'575) == "1023.999 KiB");
  CHECK(bytes_text(1'073'741'823) == "1 GiB");
  CHECK(bytes_text(18'446'744'073'709'551'615u) == "16 EiB");
}

TEST_CASE("both tables, as they are printed") {
  CHECK(params_text(parameters_of(tiny), {attention_cells(1024, tiny)}) ==
        "Attention with d_model 4, d_k 2, d_v 3: 2 heads in a layer, 5 layers\n"
        "\n"
        "  parameters              size  count    float32  float16\n"
        "  W_Q                    4 × 2      8       32 B     16 B\n"
        "  W_K                    4 × 2      8       32 B     16 B\n"
        "  W_V (value-down)       4 × 3     12       48 B     24 B\n"
        "  W_O (value-up)         3 × 4     12       48 B     24 B\n"
        "  a head            4 matrices     40      160 B     80 B\n"
        "  a layer              2 heads     80      320 B    160 B\n"
        "  in all              5 layers    400  1.563 KiB    800 B\n"
        "\n"
        "The attention weights of a context of n tokens, 10 heads in all\n"
        "\n"
        "                    a head:           in all:\n"
        "  n       n² cells  float32  float16  float32  float16\n"
        "  1,024  1,048,576    4 MiB    2 MiB   40 MiB   20 MiB\n");
}

TEST_CASE("JSON holds the counts in full") {
  const std::string json = params_json(parameters_of(gpt3), {attention_cells(1'048'576, gpt3)});
  CHECK(json.find("\"parameters\": 57982058496") != std::string::npos);
  CHECK(json.find("\"cells\": 1099511627776") != std::string::npos);
  CHECK(json.find("\"float16\": 20266198323167232") != std::string::npos);
}

}  // namespace terminal_params_tests
