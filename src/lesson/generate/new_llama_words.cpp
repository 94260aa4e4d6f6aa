#include "lesson/generate/styles.hpp"

namespace qkv {

constinit const Said llama_words[llama_words_count] = {
    {"norm1",
     "A block is what a transformer repeats: attention, then a small network for each token by "
     "itself. First, each token's row is brought to one size: square its numbers, take their mean "
     "and the root of it (the root mean square, RMS), and divide the row by that. Then each column "
     "is multiplied by its gain. For \"<own>\", {X[<own>,1]} becomes {norm1[<own>,1]}.",
     "Programs add a tiny number, eps, before they take the root, so that a row of zeros is not "
     "divided by 0; on paper we leave it out. X stays as it is: it is needed again."},
    {"Q",
     "The queries: the normed rows times W_Q, {d_k} numbers for each token. For \"<own>\"<in head> "
     "the first of them is {Q[<at>1]}.<of heads>",
     "Q is {Q.shape}. No bias is added, here or anywhere else in the block."},
    {"K",
     "The keys: the normed rows times W_K, as wide as the queries, because the two will be "
     "multiplied.<grouped> The key of \"<own>\"<in head> starts with {K[<at>1]}.",
     "K is {K.shape}, where Q is {Q.shape}."},
    {"V",
     "The values, which tokens hand over to those who attend to them: as many heads as the keys "
     "have. For \"<own>\"<in head> the first number is {V[<at>1]}.",
     "The largest number in V is {V.max}, the smallest {V.min}. Keep them in mind for context."},
    {"Q_rope",
     "X does not say where a token stands. That comes in here (rotary positions, RoPE): columns 1 "
     "and 2 are a pair, 3 and 4 the next, and each pair is turned by an angle, in radians: the "
     "token's position, counted from 0, times 1 for the first pair, times 16^(−2/{d_k}) for the "
     "next<further pairs>. With θ for the angle, the pair (a, b) becomes (a·cos θ − b·sin θ, "
     "b·cos θ + a·sin θ). LLaMA has 10000 where we have 16; our second pair turns enough to see.",
     "\"<first>\" stands at position 0 and has not moved. \"<own>\"<in head> had {Q[<at>1]} in "
     "its first place and has {Q_rope[<at>1]}."},
    {"K_rope", "The keys are turned in the same way. The values are not.",
     "The key of \"<own>\"<in head> started with {K[<at>1]} and starts with {K_rope[<at>1]}."},
    {"scores",
     "A query times a key, number by number and added up, is a score: large where the two agree."
     "<sharing> For \"<own>\" and \"<first>\"<in head> it is <sum> = {scores[<at><first>]}.",
     "The highest score is {scores.max}, the lowest {scores.min}. A row belongs to a query, a "
     "column to a key."},
    {"output",
     "W_O mixes what was heard and takes it back to the width of X, {d_model}. \"<own>\" has "
     "{output[<own>,1]} in its first column.",
     "This is what attention proposes to add to each token."},
    {"residual1",
     "And added it is: to X as it came in, not to the normed rows. What goes past a step and is "
     "added behind it is a residual connection. \"<own>\" had {X[<own>,1]} in its first place and "
     "has {residual1[<own>,1]}.",
     "The sum itself is never normed: the next step makes a copy of one size, as norm1 did."},
    {"norm2",
     "Now the small network, in which no token looks at another. Again the rows are brought to one "
     "size first, with a gain of their own: {residual1[<own>,1]} becomes {norm2[<own>,1]}.",
     "These roots are not round; three decimals will do."},
    {"gate",
     "Two projections start from here. The first is the gate, which will say how much to let "
     "through: for \"<own>\" it starts with {gate[<own>,1]}.",
     "The gate is {gate.shape}. LLaMA makes it about 2.7 times as wide as X; ours is small, so "
     "that "
     "there is less to do."},
    {"up",
     "The second, up, is what may come through: the same rows, another weight. For \"<own>\" it "
     "starts with {up[<own>,1]}.",
     "For each number of up there is one of the gate."},
    {"silu",
     "The gate goes through SiLU: x / (1 + e^(−x)). A large positive number stays nearly what it "
     "is, a large negative one becomes nearly 0. {gate[<own>,1]} becomes {silu[<own>,1]}.",
     "None is below −0.2785."},
    {"gated",
     "Gate and up are multiplied, number by number (SwiGLU): {silu[<own>,1]} · {up[<own>,1]} = "
     "{gated[<own>,1]} for the first of \"<own>\".",
     "Where the gate is near 0, little comes through."},
    {"mlp_out",
     "W_down takes the rows back to the width of X. The change that it proposes for \"<own>\" "
     "starts with {mlp_out[<own>,1]}.",
     "mlp_out is {mlp_out.shape}, like X."},
    {"residual2",
     "The second residual: the change is added to what came out of the first half. \"<own>\" came "
     "in with {X[<own>,1]} in its first place and goes out with {residual2[<own>,1]}.",
     "This is the block's result, and the next block's X.",
     "How does one score come about, and which head of keys does it use?\n\n"
     "    qkv explain <file> 'scores[<head>2,1]'\n\n"
     "What if the first row is ten times as large: does its row of norm1 change?\n\n"
     "    qkv run <file> --set 'X[1,1]=30' --step norm1\n\n"
     "And now by hand, on paper or in a spreadsheet:\n\n"
     "    qkv worksheet <file> -o mine"},
};

}  // namespace qkv
