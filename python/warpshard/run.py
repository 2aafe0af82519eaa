"""Runs: in the foreground, or in the background with progress and cancelling."""

from __future__ import annotations

import json
import operator
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from .control import Controller
from .machine import Machine
from .result import Result
from .workload import Program, Trace, Workload, as_workload

__all__ = ["Progress", "Simulation", "simulate", "start"]

Policy = str | Controller
Until = Literal["both", "gpu", "cpu"]


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    cycles: int
    """Simulated core cycles."""
    warp_instructions: int
    """Issued warp instructions."""
    ctas_done: int
    """Number of ended CTAs."""
    ctas: int
    """CTAs of the workload; 0 before the run has begun."""

    @property
    def fraction(self) -> float:
        """Share of the CTAs that have ended."""
        return self.ctas_done / self.ctas if self.ctas else 0.0


class Simulation:
    """A run in the background. It is cancelled when the object is garbage collected."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native
        self._warned = False

    @property
    def done(self) -> bool:
        """True if the run has ended, with or without an error."""
        return self._native.done

    @property
    def progress(self) -> Progress:
        """Progress of the run."""
        return Progress(*self._native.progress)

    def cancel(self) -> None:
        """Ends the run at its next cut. `result` then has all results up to this cut, with `ended_by == "interrupted"`."""
        self._native.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end of the run, at most `timeout` seconds; returns true if it has ended."""
        return self._native.wait(timeout)

    def result(self, progress: bool | None = False) -> Result:
        """Waits for the end and returns the results; `progress` shows a bar, if tqdm is installed.

        Raises the error that ended the run: an `Error`, or the exception of a controller.
        """
        try:
            with _bar(progress) as bar:
                while not self._native.wait(0.1 if bar.shown else None):
                    bar.show(self.progress)
        except BaseException:
            self.cancel()
            raise
        if not self._warned:
            self._warned = True
            for text in self._native.warnings:
                warnings.warn(text.removeprefix("warning: "), stacklevel=2)
        return Result(self._native.outcome())

    def __repr__(self) -> str:
        state = "ended" if self.done else f"{self.progress.fraction:.0%}"
        return f"<Simulation: {state}>"


class _bar:
    """A progress bar of tqdm, shown in a terminal or a notebook if tqdm is installed."""

    def __init__(self, wanted: bool | None) -> None:
        self._tqdm: Any = None
        self._made: Any = None
        self._begun = time.monotonic()
        if wanted or (wanted is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
            try:
                with warnings.catch_warnings():
                    # Without ipywidgets a notebook shows a text bar.
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
            except ImportError:
                return
            self._tqdm = tqdm

    @property
    def shown(self) -> bool:
        return self._tqdm is not None

    def show(self, progress: Progress) -> None:
        """Updates the bar, which appears once a run has taken half a second."""
        if self._tqdm is None or not progress.ctas or time.monotonic() - self._begun < 0.5:
            return
        if self._made is None:
            self._made = self._tqdm(total=progress.ctas, unit="CTA", leave=False)
        self._made.update(progress.ctas_done - self._made.n)
        self._made.set_postfix(cycle=progress.cycles, refresh=False)

    def __enter__(self) -> _bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.close()


def as_machine(given: Machine | str | os.PathLike[str]) -> Machine:
    """Returns a machine; a text is a built-in name or a path."""
    return given if isinstance(given, Machine) else Machine(given)


def as_policies(given: Policy | Sequence[Policy] | None) -> tuple[list[str], list[Controller]]:
    """Returns the built-in policies in the syntax of `--policy`, and the controllers of the caller."""
    all_ = [] if given is None else [given] if isinstance(given, (str, Controller)) else list(given)
    for one in all_:
        if not isinstance(one, str) and not callable(getattr(one, "observe", None)):
            raise TypeError(f"{type(one).__name__} as a policy, expected the name of one or a Controller")
    return [one for one in all_ if isinstance(one, str)], [one for one in all_ if not isinstance(one, str)]


def request(
    machine: Machine,
    workload: Workload | None,
    *,
    policies: Iterable[str] = (),
    threads: int | None = None,
    interval: int | None = None,
    max_cycles: int | None = None,
    kernels: str | None = None,
    seed: int = 1,
    lenient: bool = False,
    sample: str | None = None,
    cpu: Sequence[str] | str = (),
    cpu_warm: int | None = None,
    cpu_measure: int | None = None,
    gpu_first: bool = False,
    until: Until = "both",
    epoch: int | None = None,
    relaxed: bool = False,
    pin: bool = False,
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> str:
    """Returns the request of a run as JSON: `warpshard::run::Request`. Missing values have their defaults."""
    settings = list(machine.changes.items())
    if workload is not None:
        settings += workload._settings()
    applications = [name for given in ([cpu] if isinstance(cpu, str) else cpu) for name in given.split(",")]
    cores: dict[str, object] = {"warm": cpu_warm, "measure": cpu_measure, "gpu_first": gpu_first or None, "until": None if until == "both" else until}
    of_cores = {name: value for name, value in cores.items() if value is not None}
    if of_cores and not applications:
        raise _native.UsageError("cpu_warm, cpu_measure, gpu_first and until are for runs with CPU cores: name their applications with cpu")
    asked: dict[str, object] = {
        "machine": machine.base,
        "workload": None if workload is None else workload._source(),
        "set": settings,
        "policies": list(policies),
        "kernels": kernels,
        "cpu": {"applications": applications, **of_cores},
        "seed": seed,
        "lenient": lenient or (isinstance(workload, Trace) and workload.lenient),
        "skip_matrix_values": isinstance(workload, Program) and workload.skip_matrix_values,
        "max_cycles": max_cycles,
        "interval": interval,
        "sample": sample,
        "threads": threads,
        "epoch": epoch,
        "relaxed": relaxed,
        "pin": pin,
        "checkpoint_every": checkpoint_every,
        "checkpoint_file": None if out is None else os.fspath(out) + ".checkpoint",
        "resume": None if resume is None else os.fspath(resume),
    }
    # Whole numbers of numpy are accepted as whole numbers.
    return json.dumps(asked, default=operator.index)


def start(
    machine: Machine | str = "v100",
    workload: Workload | str = "gemm_tiled",
    *,
    threads: int | None = None,
    policy: Policy | Sequence[Policy] | None = None,
    interval: int | None = None,
    max_cycles: int | None = None,
    kernels: str | None = None,
    seed: int = 1,
    lenient: bool = False,
    sample: str | None = None,
    cpu: Sequence[str] | str = (),
    cpu_warm: int | None = None,
    cpu_measure: int | None = None,
    gpu_first: bool = False,
    until: Until = "both",
    epoch: int | None = None,
    relaxed: bool = False,
    pin: bool = False,
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Simulation:
    """Starts a run in the background; the arguments are the arguments of `simulate`."""
    made, (named, controllers) = as_machine(machine), as_policies(policy)
    asked = request(
        made,
        as_workload(workload),
        policies=named,
        threads=threads,
        interval=interval,
        max_cycles=max_cycles,
        kernels=kernels,
        seed=seed,
        lenient=lenient,
        sample=sample,
        cpu=cpu,
        cpu_warm=cpu_warm,
        cpu_measure=cpu_measure,
        gpu_first=gpu_first,
        until=until,
        epoch=epoch,
        relaxed=relaxed,
        pin=pin,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
    )
    return Simulation(_native.Run(asked, made._native, None, controllers))


def simulate(
    machine: Machine | str = "v100",
    workload: Workload | str = "gemm_tiled",
    *,
    threads: int | None = None,
    policy: Policy | Sequence[Policy] | None = None,
    interval: int | None = None,
    max_cycles: int | None = None,
    kernels: str | None = None,
    seed: int = 1,
    lenient: bool = False,
    sample: str | None = None,
    cpu: Sequence[str] | str = (),
    cpu_warm: int | None = None,
    cpu_measure: int | None = None,
    gpu_first: bool = False,
    until: Until = "both",
    epoch: int | None = None,
    relaxed: bool = False,
    pin: bool = False,
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Result:
    """Simulates a workload on a machine.

    machine: a Machine, or the name or path of a machine.
    workload: a Trace, Model or Program; a text is a kernel model.
    threads: worker threads; by default all cores. Results do not depend on it.
    policy: a built-in policy as on the command line ("static_limit:ctas=2"), a Controller, or several of both.
    interval: records the counters every `interval` core cycles, in `result.intervals`.
    max_cycles: ends the run at this core cycle.
    kernels: simulates only these kernels: numbers ("1-4,7") or a regular expression that matches names.
    seed: random seed of kernel models and CPU profiles.
    lenient: accepts minor errors of traces, as `Trace(path, lenient=True)` does, also in traces of applications.
    sample: simulates a sample of the launches and estimates the others (docs/sampling.md): its options, such as "error=2%"; "" for the defaults.
    cpu: applications of the CPU cores, one per core, or "@MIX".
    cpu_warm: warm-up instructions of each CPU core before kernels start; by default 500000.
    cpu_measure: measured instructions of each CPU core; by default 4500000.
    gpu_first: starts kernels at cycle 0 instead of after the warm-up of the CPU cores.
    until: the end of a run with CPU cores: "gpu" when every kernel has ended, "cpu" when every core is measured, "both" when both conditions hold.
    epoch: core cycles between two barriers of the worker threads; by default derived from the machine. Results do not depend on it unless
        `relaxed`.
    relaxed: allows epochs longer than the lookahead. Results are then approximate and marked as such.
    pin: pins each worker thread to a core.
    checkpoint_every: saves the state of the run every `checkpoint_every` core cycles, in the file `out` + ".checkpoint".
    out: names the checkpoint file, as `--out` does on the command line; no results are written there (see `result.save`).
    resume: continues from such a file of the same run, which may be from the command line. The results are the results of a run without
        interruption.
    progress: shows a bar of tqdm; by default in terminals and notebooks.

    Other Python threads run meanwhile. Ctrl-C cancels the run.
    Raises ConfigError, WorkloadError, UsageError, DeadlockError or CheckpointError with the text of the command line.
    """
    return start(
        machine,
        workload,
        threads=threads,
        policy=policy,
        interval=interval,
        max_cycles=max_cycles,
        kernels=kernels,
        seed=seed,
        lenient=lenient,
        sample=sample,
        cpu=cpu,
        cpu_warm=cpu_warm,
        cpu_measure=cpu_measure,
        gpu_first=gpu_first,
        until=until,
        epoch=epoch,
        relaxed=relaxed,
        pin=pin,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
    ).result(progress)
