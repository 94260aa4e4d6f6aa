"""Rotary positions by NumPy alone, in the notation of Hugging Face's transformers: every column has
its own cosine and sine, and what it is mixed with is the row with its pairs exchanged.

The frequencies follow the published definitions of modeling_rope_utils.py. Where a learner's wrong
version differs in one detail, that is an option more.
"""

import math

import numpy as np


def plain_frequencies(base, width):
    """θ of each pair at position 1."""
    return 1.0 / base ** (np.arange(0, width, 2) / width)


def ntk_base(base, width, growth):
    return base if width == 2 else base * growth ** (width / (width - 2))


def yarn(base, width, factor, original_length, beta_fast=32, beta_slow=1):
    def correction(rotations):
        return width * math.log(original_length / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(correction(beta_fast)), 0), min(math.ceil(correction(beta_slow)), width - 1)
    high += 0.001 if low == high else 0
    extrapolated = 1 - np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    plain = plain_frequencies(base, width)
    return plain / factor * (1 - extrapolated) + plain * extrapolated


def llama3(base, width, factor, original_length, low_freq_factor=1, high_freq_factor=4):
    plain = plain_frequencies(base, width)
    length = 2 * math.pi / plain
    smooth = (original_length / length - low_freq_factor) / (high_freq_factor - low_freq_factor)
    between = (1 - smooth) * plain / factor + smooth * plain
    scaled = np.where(length > original_length / low_freq_factor, plain / factor, between)
    return np.where(length < original_length / high_freq_factor, plain, scaled)


def frequencies(base, width, rows, scaling="none", factor=1, original_length=None, **ramp):
    """The frequencies of a scaling, and what it multiplies cosine and sine by."""
    if scaling == "linear":
        return plain_frequencies(base, width) / factor, 1.0
    if scaling == "ntk":
        return plain_frequencies(ntk_base(base, width, factor), width), 1.0
    if scaling == "dynamic":
        growth = factor * max(rows, original_length) / original_length - (factor - 1)
        return plain_frequencies(ntk_base(base, width, growth), width), 1.0
    if scaling == "yarn":
        stretch = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
        return yarn(base, width, factor, original_length, **ramp), stretch
    if scaling == "llama3":
        return llama3(base, width, factor, original_length, **ramp), 1.0
    return plain_frequencies(base, width), 1.0


def by_column(of_pairs, pairing):
    """What belongs to each pair, over the columns."""
    return np.repeat(of_pairs, 2, axis=-1) if pairing == "interleaved" else \
        np.concatenate([of_pairs, of_pairs], axis=-1)


def exchanged(x, pairing):
    """The row with its pairs exchanged, the first of each with a minus."""
    if pairing == "interleaved":
        return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def turned_by(x, angles, pairing="interleaved", table=None, stretch=1.0, swapped=False):
    """`table` is the order of the angles, where that is not the pairs' own."""
    angles = by_column(angles, table or pairing)
    cosine, sine = stretch * np.cos(angles), stretch * np.sin(angles)
    cosine, sine = (sine, cosine) if swapped else (cosine, sine)
    width = angles.shape[-1]
    front = x[..., :width]
    front = front * cosine + exchanged(front, pairing) * sine
    behind = np.broadcast_to(x[..., width:], front.shape[:-1] + (x.shape[-1] - width,))
    return np.concatenate([front, behind], axis=-1)


def rope(x, angles=None, pairing="interleaved", base=10000.0, first=0, width=None, times=1.0,
         speeds=None, stretch=None, table=None, swapped=False, **scaling):
    """`times` multiplies the angles, `speeds` changes the frequencies, `stretch` is another factor
    of cosine and sine."""
    width = x.shape[-1] if width is None else width
    factor = 1.0
    if angles is None:
        own, factor = frequencies(base, width, x.shape[-2], **scaling)
        own = own if speeds is None else speeds(own)
        angles = (first + np.arange(x.shape[-2]))[:, None] * own
    factor = factor if stretch is None else stretch
    return turned_by(x, times * angles, pairing, table, factor, swapped)
