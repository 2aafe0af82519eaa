"""Pictures of results, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .result import Result

__all__ = ["over_time", "stalls"]

_KNOBS = ("cta_limit", "warp_limit", "power")
_COLOURS = {
    "issued": "#3b7a57",
    "stall_scoreboard_memory": "#c0504d",
    "stall_memory_pipeline": "#e08e79",
    "stall_memory_collectors": "#f0b8a8",
    "stall_scoreboard_alu": "#4f81bd",
    "stall_pipeline": "#8db4e2",
    "stall_barrier": "#8064a2",
    "stall_fence": "#b2a1c7",
    "stall_throttled": "#f2c14e",
    "stall_fetch": "#d9a441",
    "stall_draining": "#bfbfbf",
    "stall_no_warps": "#e6e6e6",
}


def stalls(results: Mapping[str, Result] | Result, ax: Any = None, empty: bool = False) -> Any:
    """Draws the scheduler cycles: a bar per result, divided by reason. Returns the axes.

    Cycles without a warp, such as launch latency, are included only with `empty`.
    """
    import matplotlib.pyplot as plt

    named = {results.summary.workload: results} if isinstance(results, Result) else dict(results)
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 0.6 * len(named) + 1.6), layout="constrained")
    names = list(named)
    left = [0.0] * len(names)
    reasons = next(iter(named.values())).stalls if named else {}
    left_out = () if empty else ("stall_no_warps",)
    wholes = [1.0 - sum(result.stalls.get(reason, 0.0) for reason in left_out) or 1.0 for result in named.values()]
    for reason in (reason for reason in reasons if reason not in left_out):
        shares = [100 * result.stalls.get(reason, 0.0) / whole for result, whole in zip(named.values(), wholes)]
        if max(shares) < 0.5:
            continue
        ax.barh(names, shares, left=left, label=reason.removeprefix("stall_").replace("_", " "), color=_COLOURS.get(reason))
        left = [before + share for before, share in zip(left, shares)]
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("% of scheduler cycles" if empty else "% of scheduler cycles with a warp")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def over_time(result: Result, *columns: str, ax: Any = None) -> Any:
    """Draws columns of `result.intervals`, or signals and knobs of `result.timeline` as the mean over their SMs, over the cycles. Returns the axes.

    Raises KeyError: neither table has such a column or name.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    timeline = result.timeline
    for column in columns:
        if column in result.intervals:
            ax.plot(result.intervals["cycle"], result.intervals[column], label=column)
            continue
        rows = [row for row in timeline.rows() if row["name"] == column]
        if not rows:
            known = [*result.intervals.columns[1:], *dict.fromkeys(timeline["name"])]
            raise KeyError(f"there is no column or signal {column!r}; known are: {', '.join(known) or 'none: simulate with interval=N'}")
        # The plot shows the mean of the newest values of all SMs; a knob keeps its value to the end of the run.
        newest: dict[int | None, float] = {}
        means: dict[int, float] = {}
        for row in rows:
            newest[row["sm"]] = row["value"]
            means[row["cycle"]] = sum(newest.values()) / len(newest)
        if column in _KNOBS:
            means[result.cycles] = sum(newest.values()) / len(newest)
        ax.step(list(means), list(means.values()), where="post", label=column)
    ax.set_xlim(left=0)
    ax.set_xlabel("core cycle")
    ax.legend(frameon=False)
    return ax
