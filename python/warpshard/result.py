"""The results of a run: headline numbers, tables, and the files of the command line."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _native
from .table import Table

__all__ = ["Result", "Summary"]


@dataclass(frozen=True)
class Summary:
    """The headline numbers of a run. Numbers that the machine lacks are None."""

    machine: str
    """Name of the machine."""
    workload: str
    """Name of the workload."""
    ended_by: str
    """Reason for the end of the run: `completed`, `max_cycles`, `max_instructions`, `controller` or `interrupted`."""
    cycles: int
    """Core cycles until the last kernel ended."""
    net_cycles: int
    """Core cycles until the last kernel ended, without launch latencies."""
    seconds: float
    """Simulated seconds until the last kernel ended."""
    warp_instructions: int
    """Issued warp instructions."""
    thread_instructions: int
    """Active lanes of the issued warp instructions."""
    ipc: float | None
    """Thread instructions per core cycle."""
    resident_warps: float | None
    """Mean number of resident warps of an SM while it has any."""
    l1_hit_rate: float | None
    """Hits as a share of hits, pending hits and misses of the L1 caches."""
    llc_hit_rate: float | None
    """Hits as a share of hits, pending hits and misses of the LLC."""
    dram_row_hit_rate: float | None
    """Share of DRAM requests to an open row."""
    dram_bytes: int | None
    """Bytes transferred by DRAM."""
    dram_bytes_per_second: float | None
    """Bytes transferred by DRAM per second of the time in which the DRAM counted, which exceeds `seconds` if CPU cores run longer than the last
    kernel.
    """
    joules: float | None
    """Energy in joules, for machines with event energies."""
    mean_watts: float | None
    """Mean power in watts, for machines with event energies."""
    host_seconds: float
    """Host seconds of the simulation; they differ from run to run."""


class Result:
    """All results of a run.

    `summary` has the headline numbers; `cycles`, `ipc` and `ended_by` are also attributes of the result. `kernels`, `sms`, `partitions`,
    `intervals`, `energy`, `power` and `timeline` are tables; `stats` is stats.json as a dict; `save` writes the result folder of `warpshard run`.
    """

    def __init__(self, native: _native.Outcome) -> None:
        self._native = native

    @cached_property
    def summary(self) -> Summary:
        """The headline numbers."""
        return Summary(**self._native.headline())

    @property
    def cycles(self) -> int:
        """Core cycles until the last kernel ended."""
        return self.summary.cycles

    @property
    def ipc(self) -> float | None:
        """Thread instructions per core cycle."""
        return self.summary.ipc

    @property
    def ended_by(self) -> str:
        """Reason for the end of the run: `completed`, `max_cycles`, `max_instructions`, `controller` or `interrupted`."""
        return self.summary.ended_by

    @property
    def report(self) -> str:
        """The report of the command line as text."""
        return self._native.summary()

    @cached_property
    def stats(self) -> dict[str, Any]:
        """`stats.json` as a dict: every counter of every component, with unit and description."""
        made: dict[str, Any] = json.loads(self._native.stats_json())
        return made

    @cached_property
    def host(self) -> dict[str, Any]:
        """`host.json` as a dict: speed and memory of the simulator. Differs from run to run."""
        made: dict[str, Any] = json.loads(self._native.host_json())
        return made

    @property
    def run_toml(self) -> str:
        """`run.toml`: every value of the run with its origin. It can be loaded as a machine."""
        return self._native.run_toml()

    @cached_property
    def kernels(self) -> Table:
        """A row per kernel launch: its start and end, and its counters."""
        return Table(self._native.kernels())

    @cached_property
    def sms(self) -> Table:
        """A row per SM with all its counters."""
        return Table(self._native.components("sm"))

    @cached_property
    def partitions(self) -> Table:
        """A row per memory partition with the counters of its LLC slices (`llc.`) and its DRAM channel (`dram.`)."""
        return Table(self._native.partitions())

    def components(self, kind: str) -> Table:
        """Returns a table with a row per component of a kind: `sm`, `llc`, `dram` and the others of `kinds`.

        Raises KeyError: there is no such kind.
        """
        if kind not in self.kinds:
            raise KeyError(f"there is no component of kind {kind!r}; the kinds are: {', '.join(self.kinds)}")
        return Table(self._native.components(kind))

    @property
    def kinds(self) -> list[str]:
        """The kinds of components that have counters."""
        return self._native.kinds()

    @cached_property
    def intervals(self) -> Table:
        """A row per interval with the counters of the chip; empty for a run without `interval`."""
        return Table(self._native.intervals())

    @cached_property
    def energy(self) -> Table:
        """A row per component of the machine with its energy; empty for a machine without event energies."""
        return Table(self._native.energy())

    @cached_property
    def power(self) -> Table:
        """A row per interval with the mean power of each component; empty without `interval` or event energies."""
        return Table(self._native.power())

    @cached_property
    def timeline(self) -> Table:
        """A row per decision, signal or remark of a controller."""
        return Table(self._native.timeline())

    @cached_property
    def stalls(self) -> dict[str, float]:
        """The scheduler cycles as shares: `issued`, and a reason for each cycle without an issue."""
        reasons = self._native.scheduler_cycles()
        total = sum(cycles for _, cycles in reasons)
        return {name: cycles / total if total else 0.0 for name, cycles in reasons}

    def help(self, kind: str, counter: str) -> str:
        """Returns the description of a counter, such as `help("sm", "issued")`; the kind of the columns of `kernels` is `kernel`.

        Raises KeyError: there is no such counter.
        """
        found = self._native.counter_help(kind, counter)
        if found is None:
            raise KeyError(f"{kind} has no counter {counter!r}")
        return f"{found[1]} In {found[0]}."

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the result folder, byte-identical to the files of `warpshard run`."""
        return self._native.files()

    def save(self, folder: str | os.PathLike[str], force: bool = False) -> Path:
        """Writes the result folder. With `force`, the folder may contain other files, which are kept, or the results of another experiment, which are
        replaced.

        Raises OutputError: the folder is in use, contains other files or another experiment, or cannot be written.
        """
        return Path(self._native.save(folder, force))

    def __repr__(self) -> str:
        ipc = "" if self.ipc is None else f", ipc={self.ipc:.2f}"
        return f"<Result {self.summary.workload} on {self.summary.machine}: {self.ended_by}, cycles={self.cycles}{ipc}>"

    def _repr_html_(self) -> str:
        from html import escape

        def cell(value: object) -> str:
            return f"{value:.4g}" if isinstance(value, float) else escape(str(value))

        values = ((field.name, getattr(self.summary, field.name)) for field in fields(Summary))
        return "<table>" + "".join(f"<tr><th>{name}</th><td>{cell(value)}</td></tr>" for name, value in values if value is not None) + "</table>"
