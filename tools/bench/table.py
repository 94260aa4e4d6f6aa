"""One table of all figures, for people; the same as a record, for files."""

import math
import statistics

from measuring import median, ratios

HEADING = ["work", "size", "threads", "ours ms", "MiB", "of kept", "of limit", "peer", "peer ms",
           "its work ms", "× (whole)", "spread", "× (work)", "× (cpu)", "goal"]


def figures(row, runs, peaks, limit):
    """What one row measured, as plain data."""
    ours = runs["ours"]
    best = min(run.wall for run in ours)
    peers = {}
    for name, _, _ in row.peers:
        whole = ratios(runs[name], ours)
        inner = ratios(runs[name], ours, "inner")
        peers[name] = {
            "ms": 1000 * median(runs[name], "wall"),
            "work ms": 1000 * median(runs[name], "inner"),
            "MiB": peaks[name] / 2**20,
            "ratio": statistics.median(whole),
            "spread": [min(whole), max(whole)],
            "ratio to its work": statistics.median(inner),
            "ratio of processor time": median(runs[name], "user") / max(1e-4, median(ours, "user")),
            "goal": row.goals.get(name),
        }
    return {
        "work": row.name, "size": row.size, "threads": row.threads,
        "ms": 1000 * median(ours, "wall"), "user ms": 1000 * median(ours, "user"),
        "MiB": peaks["ours"] / 2**20,
        "of kept": peaks["ours"] / row.kept if row.kept > 1 << 24 else None,
        "of limit": limit / best if limit else None,
        "peers": peers,
    }


def shown(value, digits=2):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:,.{digits}f}" if isinstance(value, float) else str(value)


def lines_of(entry):
    """The cells of a row: a line for each peer, ours on the first."""
    own = [entry["work"], entry["size"], str(entry["threads"]), shown(entry["ms"]),
           shown(entry["MiB"], 0), shown(entry["of kept"]), shown(entry["of limit"])]
    lines = []
    for name, peer in entry["peers"].items():
        low, high = peer["spread"]
        goal = "–" if peer["goal"] is None else f"≥ {peer['goal']:.3g}"
        lines.append((own if not lines else [""] * len(own)) + [
            name, shown(peer["ms"]), shown(peer["work ms"]), shown(peer["ratio"]),
            f"{low:.2f}–{high:.2f}", shown(peer["ratio to its work"]),
            shown(peer["ratio of processor time"]), goal])
    return lines


def text(entries):
    lines = [HEADING] + [line for entry in entries for line in lines_of(entry)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(HEADING))]
    left = {0, 1, 7}
    return "\n".join(
        "  ".join(cell.ljust(widths[c]) if c in left else cell.rjust(widths[c])
                  for c, cell in enumerate(line)).rstrip() for line in lines)


def exponents(entries):
    """How each growing row grows: the slope of log time over log size, last three sizes."""
    found = {}
    for entry in entries:
        if entry["work"].startswith("growth: "):
            size = int(entry["size"].split("×")[0])
            found.setdefault(entry["work"][8:], []).append((size, entry["ms"]))
    slopes = {}
    for name, points in found.items():
        (n, t), (m, u) = points[-3], points[-1]
        slopes[name] = math.log(u / t) / math.log(m / n)
    return slopes
