"""Sweeps in memory: many runs in one process, one per core at a time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import fields
from typing import Any, Literal

from . import _native
from .control import Controller
from .machine import Machine, Setting
from .result import Result, Summary
from .run import Simulation, as_machine, start
from .table import Table
from .workload import Workload, as_workload

__all__ = ["Sweep", "sweep"]

PolicyOrFactory = str | Callable[[], Controller] | Sequence[str | Callable[[], Controller]] | None
Changes = Mapping[str | tuple[str, ...], Sequence[Any]] | Sequence[Mapping[str, Setting]]


class Sweep(Table):
    """The runs of a sweep: a table with a row per run, and the results in the same order."""

    __slots__ = ("errors", "results")
    results: list[Result | None]
    """The result of each run; None for a failed run."""
    errors: list[Exception | None]
    """The error of each run; None for a successful run."""


def points(changes: Changes | None) -> list[dict[str, Setting]]:
    """Returns the points of a grid: a dict of lists, whose keys may be tuples of keys that change together, or a list of dicts, which is returned
    unchanged.
    """
    if changes is None:
        return [{}]
    if not isinstance(changes, Mapping):
        return [dict(point) for point in changes]
    axes: list[list[dict[str, Setting]]] = []
    for key, values in changes.items():
        if isinstance(key, str):
            axes.append([{key: value} for value in values])
            continue
        wrong = next((value for value in values if len(value) != len(key)), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} for {key!r}: expected {len(key)} values, one for each key")
        axes.append([dict(zip(key, value)) for value in values])
    return [{name: value for part in parts for name, value in part.items()} for parts in itertools.product(*axes)]


def _list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _policies(given: PolicyOrFactory) -> list[str | Callable[[], Controller]]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]  # type: ignore[list-item]


def _policy_name(given: PolicyOrFactory) -> str:
    names = (one if isinstance(one, str) else getattr(one, "name", getattr(one, "__name__", "controller")) for one in _policies(given))
    return "+".join(str(name) for name in names)


def sweep(
    machines: Machine | str | os.PathLike[str] | Sequence[Machine | str] = "v100",
    workloads: Workload | str | Sequence[Workload | str] = "gemm_tiled",
    changes: Changes | None = None,
    *,
    policies: Sequence[PolicyOrFactory] = (None,),
    jobs: int | None = None,
    threads: int = 1,
    errors: Literal["raise", "keep"] = "raise",
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Simulates every workload on every machine with every change under every policy.

    machines, workloads: one, or a list.
    changes: of each machine: a grid `{"gpu.sms": [56, 80], "gpu.sm.order": ["gto", "lrr"]}`; keys that change together as a tuple,
        `{("gpu.sms", "clocks.core"): [(56, "1 GHz"), (80, "900 MHz")]}`; or a list of dicts, one point each. Keys that begin with `workload.` are
        parameters of the kernel model or program.
    policies: of each run: None, the text of a policy, a class (or function) that creates a Controller, or a list of these.
    jobs: maximum number of concurrent runs; by default one per core.
    threads: worker threads of each run.
    errors: "raise" ends the sweep at the first failed run; "keep" continues and leaves the row of a failed run empty except for `error`.
    options: other options of `simulate`, such as `interval`, `max_cycles`, `kernels`, `seed`, `cpu` and `sample`.

    Results stay in memory; a `Plan` stores results and can continue an interrupted sweep. The table has a row per run in the order machine,
    workload, change, policy, with a column for each key, and the headline numbers. All machines are checked before the first run begins.
    """
    plan: list[tuple[Machine, Workload, dict[str, Setting], PolicyOrFactory]] = []
    for base, workload, point, policy in itertools.product(_list(machines), _list(workloads), points(changes), policies):
        settings = {key: value for key, value in point.items() if not key.startswith("workload.")}
        parameters = {key.removeprefix("workload."): value for key, value in point.items() if key.startswith("workload.")}
        machine, work = as_machine(base).changed(settings), as_workload(workload)
        plan.append((machine, _with(work, parameters) if parameters else work, point, policy))

    running: set[Simulation] = set()

    def one(machine: Machine, workload: Workload, policy: PolicyOrFactory) -> Result:
        made = [given if isinstance(given, str) else given() for given in _policies(policy)]
        simulation = start(machine, workload, policy=made, threads=threads, **options)
        running.add(simulation)
        try:
            return simulation.result()
        finally:
            running.discard(simulation)

    with ThreadPoolExecutor(max_workers=jobs or _native.cores()) as pool:
        futures = [pool.submit(one, machine, workload, policy) for machine, workload, _, policy in plan]
        try:
            _watch(futures, progress, errors == "raise")
        except BaseException:
            for future in futures:
                future.cancel()
            for simulation in list(running):
                simulation.cancel()
            raise
    results = [None if future.exception() else future.result() for future in futures]
    failures = [future.exception() for future in futures]
    frame = Sweep(_table(plan, results, failures))
    frame.results = results
    frame.errors = [failure if isinstance(failure, Exception) else None for failure in failures]
    return frame


def _with(workload: Workload, parameters: dict[str, Any]) -> Workload:
    from .workload import Model, Program

    if isinstance(workload, Model):
        return Model(workload.name, **{**workload.parameters, **parameters})
    if isinstance(workload, Program):
        return Program(workload.name, workload.arch, **{**workload.parameters, **parameters})
    raise TypeError(f"{workload}: traces and applications have no parameters; only kernel models and programs have them")


def _watch(futures: list[Future[Result]], progress: bool | None, stop: bool) -> None:
    """Waits for all runs, shows the number of ended runs, and raises the first failure if requested."""
    from .run import _bar

    bar = _bar(progress)
    made = bar._tqdm(total=len(futures), unit="run", leave=False) if bar.shown else None
    left = set(futures)
    try:
        while left:
            done, left = wait(left, timeout=0.1, return_when=FIRST_EXCEPTION)
            failure = next((future.exception() for future in futures if future in done and future.exception()), None)
            if stop and failure is not None:
                raise failure
            if made is not None:
                made.update(len(futures) - len(left) - made.n)
    finally:
        if made is not None:
            made.close()


def _table(
    plan: list[tuple[Machine, Workload, dict[str, Setting], PolicyOrFactory]],
    results: list[Result | None],
    failures: list[BaseException | None],
) -> dict[str, list[Any]]:
    keys = list(dict.fromkeys(key for _, _, point, _ in plan for key in point))
    columns: dict[str, list[Any]] = {
        "run": list(range(len(plan))),
        "machine": [machine.base for machine, _, _, _ in plan],
        "workload": [str(workload) for _, workload, _, _ in plan],
        "policy": [_policy_name(policy) for _, _, _, policy in plan],
    }
    for key in keys:
        columns[key] = [point.get(key) for _, _, point, _ in plan]
    for name in (field.name for field in fields(Summary)):
        if name not in columns:
            columns[name] = [None if result is None else getattr(result.summary, name) for result in results]
    if any(failures):
        columns["error"] = [None if failure is None else str(failure) for failure in failures]
    return columns
