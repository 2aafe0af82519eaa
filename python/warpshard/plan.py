"""Plans: many runs, simulated in this process and stored by content, with the same results as `warpshard sweep`."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import _native
from .machine import Machine, Setting
from .run import _bar
from .table import Table
from .workload import Applications, Beside, Program, Trace, Workload, as_workload

__all__ = ["Plan", "PlanProgress", "StoredSweep", "Sweeping"]

Axes = Mapping[str, Sequence[Setting]]
AnyWorkload = Workload | Beside | str


@dataclass(frozen=True)
class PlanProgress:
    """Progress of a sweep."""

    ended: int
    """Number of runs that have ended."""
    failed: int
    """Number of ended runs that failed."""
    active: int
    """Number of active runs."""
    runs: int
    """Number of runs to simulate; 0 until all runs of the plan are checked."""


class StoredSweep(Table):
    """The table of a plan: a row per run in the order of the plan, including failed and missing runs. It is sweep.csv of the command line, with
    types.
    """

    __slots__ = ("earlier", "folder", "folders", "missing", "simulated")
    folder: Path
    """Path of the result folder."""
    folders: list[Path | None]
    """The result folder of each run, as `warpshard run` writes it; None for a run without results."""
    simulated: int
    """Number of simulated runs."""
    earlier: int
    """Number of runs with earlier results."""
    missing: int
    """Number of missing runs."""


class Sweeping:
    """A sweep in the background. It is cancelled when the object is garbage collected; finished runs are stored."""

    def __init__(self, native: _native.Sweep, folder: Path) -> None:
        self._native = native
        self._folder = folder
        self._warned = False

    @property
    def done(self) -> bool:
        """True if the sweep has ended, with or without an error."""
        return self._native.done

    @property
    def progress(self) -> PlanProgress:
        """Progress of the sweep."""
        return PlanProgress(*self._native.progress)

    def cancel(self) -> None:
        """Cancels the sweep. Finished runs are stored, and the same plan continues from them."""
        self._native.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end of the sweep, at most `timeout` seconds; returns true if it has ended."""
        return self._native.wait(timeout)

    def result(self, errors: Literal["raise", "keep"] = "raise", progress: bool | None = False) -> StoredSweep:
        """Waits for the end and returns the table. With "raise", raises the error of the first failed run when all runs have ended; with "keep", the
        row of a failed run has its error.
        """
        bar = _bar(progress)
        made: Any = None
        try:
            while not self._native.wait(0.1 if bar.shown else None):
                seen = self.progress
                if made is None and seen.runs:
                    made = bar._tqdm(total=seen.runs, unit="run", leave=False)
                if made is not None:
                    made.update(seen.ended - made.n)
        except BaseException:
            self.cancel()
            self._native.wait(None)
            raise
        finally:
            if made is not None:
                made.close()
        table = StoredSweep(self._native.table(errors == "raise"))
        table.folder, table.folders = self._folder, self._native.folders()
        table.simulated, table.earlier, table.missing = self._native.counts()
        if not self._warned:
            self._warned = True
            for text in self._native.warnings():
                warnings.warn(text.removeprefix("warning: "), stacklevel=2)
        return table

    def __repr__(self) -> str:
        seen = self.progress
        return f"<Sweeping: {'ended' if self.done else f'{seen.ended}/{seen.runs} runs'}>"


def _machine(given: Machine | str | os.PathLike[str]) -> str:
    if isinstance(given, Machine):
        if given.changes:
            raise TypeError("a machine with changes in a plan: give its name, and the changes as `set`, `grid`, `zips` or `points`")
        return given.base
    return os.fspath(given)


def _workload(given: AnyWorkload) -> dict[str, Any]:
    if isinstance(given, Beside):
        return {**_workload(given.workload), "cpu": given.cpu}
    work = as_workload(given)
    if isinstance(work, Trace):
        return {"trace": os.fspath(work.path)}
    if isinstance(work, Applications):
        if work.alone:
            raise TypeError("applications that are run alone, too, in a plan: it has no such runs; give each application as a workload")
        return {"apps": list(work.apps), **({"once": True} if work.once else {})}
    named: dict[str, Any] = {"program": work.name} if isinstance(work, Program) else {"model": work.name}
    if isinstance(work, Program) and work.arch:
        named["arch"] = work.arch
    return {**named, "set": dict(work.parameters)} if work.parameters else named


def _many(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _lenient(given: AnyWorkload) -> bool:
    work = given.workload if isinstance(given, Beside) else given
    return isinstance(work, Trace) and work.lenient


class Plan:
    """Every combination of machines, workloads, policies, changes and seeds, each of which is a run (docs/sweeps.md).

        plan = Plan(["v100"], ["gemm_tiled", Model("vecadd", n=65536)], grid={"gpu.sms": [56, 80], "gpu.sm.order": ["gto", "lrr"]})
        frame = plan.run("results/sms").to_polars()

    A run is simulated once: running the plan again, here or with `warpshard sweep`, uses the stored results.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        machines: Machine | str | os.PathLike[str] | Sequence[Machine | str | os.PathLike[str]] = "v100",
        workloads: AnyWorkload | Sequence[AnyWorkload] = "gemm_tiled",
        *,
        policies: Sequence[str | Sequence[str] | None] = (None,),
        set: Mapping[str, Setting] | None = None,
        grid: Axes | None = None,
        zips: Axes | Sequence[Axes] = (),
        points: Sequence[Mapping[str, Setting]] = (),
        seeds: Sequence[int] = (1,),
        interval: int | None = None,
        max_cycles: int | None = None,
        kernels: str | None = None,
        cpu_warm: int | None = None,
        cpu_measure: int | None = None,
        name: str = "plan",
    ) -> None:
        """Creates a plan; its runs are checked when it is run.

        machines: names or paths of machines; one or several.
        workloads: a Trace, Model, Program, Applications, the name of a kernel model, or any of these with CPU applications as a Beside.
        policies: of each run: None, a policy as on the command line, or a list of policies of a single run. A controller in Python has no content
            by which results could be stored; use `sweep` for such controllers.
        set: values of all runs.
        grid: a list of values for each key; every combination is simulated. Keys that begin with `workload.` are parameters of the workload.
        zips: keys whose lists have equal lengths and change together; one such dict or several.
        points: dicts with values for any keys, one point each.
        interval, max_cycles, kernels, cpu_warm, cpu_measure: of all runs, as the options of `warpshard run`.
        name: names the default result folder.
        """
        works = _many(workloads)
        run = {"max_cycles": max_cycles, "interval": interval, "kernels": kernels, "cpu_warm": cpu_warm, "cpu_measure": cpu_measure}
        options: dict[str, Any] = {key: value for key, value in run.items() if value is not None}
        if any(map(_lenient, works)):
            options["lenient"] = True
        made: dict[str, Any] = {
            "name": name,
            "machines": [_machine(machine) for machine in _many(machines)],
            "workloads": [_workload(workload) for workload in works],
            "policies": ["" if policy is None else policy if isinstance(policy, str) else list(policy) for policy in policies],
            "seeds": list(seeds),
            "run": options,
            "set": dict(set or {}),
            "grid": {key: list(values) for key, values in (grid or {}).items()},
            "zip": [{key: list(values) for key, values in axes.items()} for axes in ([zips] if isinstance(zips, Mapping) else zips)],
            "points": [dict(point) for point in points],
        }
        self._native = _native.Plan(name, json.dumps({key: value for key, value in made.items() if value not in ({}, [])}))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Reads a plan file."""
        return cls._of(_native.Plan.read(path))

    @classmethod
    def from_toml(cls, text: str, name: str = "plan") -> Plan:
        """Returns a plan from the text of a plan file."""
        return cls._of(_native.Plan(name, None, text))

    @classmethod
    def _of(cls, native: _native.Plan) -> Plan:
        plan = cls.__new__(cls)
        plan._native = native
        return plan

    @property
    def name(self) -> str:
        """Name of the plan."""
        return self._native.name

    @property
    def runs(self) -> list[str]:
        """Returns the options of every run in the syntax of `warpshard run`, one line each."""
        return self._native.runs()

    def to_toml(self) -> str:
        """Text of the plan file, which `warpshard sweep` and `warpshard sweep submit` accept."""
        return self._native.text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the plan file, for `warpshard sweep submit` and other hosts; returns its path."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")
        return Path(path)

    def start(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        jobs: int | None = None,
        memory: str | None = None,
        slice: tuple[int, int] | str | None = None,
    ) -> Sweeping:
        """Starts the sweep in the background; the arguments are the arguments of `run`."""
        return self._start(out, jobs, memory, slice, True)

    def _start(
        self, out: str | os.PathLike[str] | None, jobs: int | None, memory: str | None, slice: tuple[int, int] | str | None, simulates: bool
    ) -> Sweeping:
        folder = Path(out) if out is not None else Path("results") / f"sweep-{self.name}"
        part = slice if slice is None or isinstance(slice, str) else f"{slice[0]}/{slice[1]}"
        return Sweeping(_native.Sweep(self._native, folder, jobs, memory, part, simulates), folder)

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        jobs: int | None = None,
        memory: str | None = None,
        slice: tuple[int, int] | str | None = None,
        errors: Literal["raise", "keep"] = "raise",
        progress: bool | None = None,
    ) -> StoredSweep:
        """Simulates the runs whose results are missing in the result folder, and returns the table of all runs.

        out: the result folder, as `warpshard sweep --out`; by default results/sweep-NAME.
        jobs: maximum number of concurrent runs; by default one per core.
        memory: memory limit of all concurrent runs, such as "8GiB"; by default the free memory.
        slice: `(2, 8)` simulates every eighth run, starting with the second, for a task of a batch system; `collect` returns the table when all
            tasks have ended.
        errors: "raise" raises the error of the first failed run when all runs have ended; "keep" keeps its row, whose `error` has the message.
        progress: shows a bar of tqdm; by default in terminals and notebooks.

        Ctrl-C or the end of the process ends the sweep and keeps finished runs. The same call continues from them.
        """
        return self.start(out, jobs=jobs, memory=memory, slice=slice).result(errors, progress)

    def collect(self, out: str | os.PathLike[str] | None = None) -> StoredSweep:
        """Returns the table of the existing results without simulating runs."""
        return self._start(out, None, None, None, False).result("keep")

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        return f"<Plan {self.name!r}: {len(self)} runs>"
