"""Runs: at once, or in the background with progress and cancelling."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _native
from .control import Controller
from .machine import Machine
from .result import Result
from .workload import Workload, as_workload

__all__ = ["Progress", "Simulation", "simulate", "start"]

Policy = str | Controller


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    cycles: int
    """Core cycles simulated."""
    warp_instructions: int
    """Warp instructions issued."""
    ctas_done: int
    """CTAs that ended."""
    ctas: int
    """CTAs of the workload; 0 before the run has begun."""

    @property
    def fraction(self) -> float:
        """The share of the CTAs that ended."""
        return self.ctas_done / self.ctas if self.ctas else 0.0


class Simulation:
    """A run in the background. It is cancelled when nobody holds it any more."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native
        self._warned = False

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._native.done

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(*self._native.progress)

    def cancel(self) -> None:
        """Ends it at its next cut. `result` then has everything up to there, with `ended_by == "interrupted"`."""
        self._native.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, at most `timeout` seconds; whether it has ended."""
        return self._native.wait(timeout)

    def result(self, progress: bool | None = False) -> Result:
        """Waits for the end and returns the results; `progress` shows a bar, if tqdm is installed.

        Raises what ended the run: an `Error`, or the exception of a controller.
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
    """A bar of tqdm, in a terminal or a notebook; nothing where tqdm is missing or nobody looks."""

    def __init__(self, wanted: bool | None) -> None:
        self._tqdm: Any = None
        self._made: Any = None
        self._begun = time.monotonic()
        if wanted or (wanted is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
            try:
                with warnings.catch_warnings():
                    # Without ipywidgets a notebook has a bar of text.
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
            except ImportError:
                return
            self._tqdm = tqdm

    @property
    def shown(self) -> bool:
        return self._tqdm is not None

    def show(self, progress: Progress) -> None:
        """Moves the bar, which appears once a run has taken half a second."""
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
    """A machine; a text is a built-in name or a path."""
    return given if isinstance(given, Machine) else Machine(given)


def as_policies(given: Policy | Sequence[Policy] | None) -> tuple[list[str], list[Controller]]:
    """The built-in policies, as `--policy` has them, and the controllers of the caller."""
    all_ = [] if given is None else [given] if isinstance(given, (str, Controller)) else list(given)
    for one in all_:
        if not isinstance(one, str) and not callable(getattr(one, "observe", None)):
            raise TypeError(f"{type(one).__name__} as a policy, expected the name of one or a Controller")
    return [one for one in all_ if isinstance(one, str)], [one for one in all_ if not isinstance(one, str)]


def arguments(
    machine: Machine,
    workload: Workload | None,
    *,
    policies: Iterable[str] = (),
    threads: int | None = None,
    interval: int | None = None,
    max_cycles: int | None = None,
    kernels: str | None = None,
    seed: int = 1,
    cpu: Sequence[str] | str = (),
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
) -> list[str]:
    """The command line of a run."""
    words = ["warpshard", "run", "--machine", machine.base]
    settings = list(machine.changes.items())
    if workload is not None:
        words += workload._options()
        settings += workload._settings()
    for key, value in settings:
        words += ["--set", f"{key}={value}"]
    for policy in policies:
        words += ["--policy", policy]
    cpus = [cpu] if isinstance(cpu, str) else list(cpu)
    if cpus:
        words += ["--cpu", ",".join(cpus)]
    given: dict[str, object] = {"threads": threads, "interval": interval, "max-cycles": max_cycles, "kernels": kernels}
    given |= {"out": out and os.fspath(out), "checkpoint-every": checkpoint_every, "resume": resume and os.fspath(resume)}
    for name, number in given.items():
        if number is not None:
            words += [f"--{name}", str(number)]
    if seed != 1:
        words += ["--seed", str(seed)]
    return [*words, *options]


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
    cpu: Sequence[str] | str = (),
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
) -> Simulation:
    """Starts a run in the background; the arguments are those of `simulate`."""
    made, (named, controllers) = as_machine(machine), as_policies(policy)
    words = arguments(
        made,
        as_workload(workload),
        policies=named,
        threads=threads,
        interval=interval,
        max_cycles=max_cycles,
        kernels=kernels,
        seed=seed,
        cpu=cpu,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
        options=options,
    )
    return Simulation(_native.Run(words, made._native, None, controllers))


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
    cpu: Sequence[str] | str = (),
    out: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
    progress: bool | None = None,
) -> Result:
    """Simulates a workload on a machine.

    machine: a Machine, or the name or path of one.
    workload: a Trace, Model or Program; a text is a kernel model.
    threads: worker threads; all cores if not given. Results do not depend on it.
    policy: a built-in policy as on the command line ("static_limit:ctas=2"), a Controller, or several of both.
    interval: records the counters every so many core cycles, in `result.intervals`.
    max_cycles: ends the run at this core cycle.
    kernels: simulates only these: numbers ("1-4,7") or a regular expression over names.
    seed: of the random numbers of kernel models and CPU profiles.
    cpu: applications of the CPU cores, one per core, or "@MIX".
    checkpoint_every: saves the state of the run every so many core cycles, in `out` + ".checkpoint".
    out: names that file, as `--out` does on the command line; nothing else is written there (`result.save`).
    resume: goes on from such a file of the same run, also of the command line. The results are those of a run that was never stopped.
    options: further options of `warpshard run`, such as ["--epoch", "80", "--relaxed"].
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
        cpu=cpu,
        out=out,
        checkpoint_every=checkpoint_every,
        resume=resume,
        options=options,
    ).result(progress)
