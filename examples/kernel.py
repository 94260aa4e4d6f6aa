"""Stands for a program whose attention is to be compared with a lesson: it writes its arrays, one for
each step, into dump.npz, and those in single precision into float32.npz. It forgets the root of d_k.

    qkv export examples/two-words.toml -o out --format npz
    python3 examples/kernel.py
    qkv compare dump.npz examples/two-words.toml
"""

import numpy as np

given = np.load("out/lesson.npz")
Q = given["X"] @ given["W_Q"]
K = given["X"] @ given["W_K"]
scores = Q @ K.T
np.savez("dump.npz", Q=Q, K=K, scores=scores, scaled_scores=scores / 4)

weights = given["attention_weights"].astype("float32")
np.savez("float32.npz", Q=Q.astype("float32"), attention_weights=weights)
