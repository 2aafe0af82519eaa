"""Workloads of runs: recorded traces, kernel models, programs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _native

__all__ = ["Applications", "Beside", "Model", "Program", "Trace", "Workload", "models", "policies"]


@dataclass(frozen=True)
class Trace:
    """A recorded trace: its kernelslist.g, a folder that contains one, or a native file."""

    path: str | os.PathLike[str]
    lenient: bool = False
    """Accept minor errors of the trace; a note counts each repair."""

    def _source(self) -> dict[str, Any]:
        return {"trace": os.fspath(self.path)}

    def _settings(self) -> list[tuple[str, str]]:
        return []

    def __str__(self) -> str:
        return os.fspath(self.path)


class _Parameters:
    """A name or path, and parameters that override the values of the file."""

    __slots__ = ("name", "parameters")
    name: str
    parameters: dict[str, int]

    def __init__(self, name: str | os.PathLike[str], parameters: dict[str, int]) -> None:
        self.name = os.fspath(name)
        self.parameters = parameters

    def _settings(self) -> list[tuple[str, str]]:
        return [(f"workload.{key}", str(value)) for key, value in self.parameters.items()]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __str__(self) -> str:
        given = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({given})" if given else self.name

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({self.name!r}{given})"


class Model(_Parameters):
    """A kernel model: a built-in name (`models()` lists them) or the path of a model file, with parameters.

    Model("gemm_tiled", m=512, n=512, k=512)
    """

    __slots__ = ()

    def __init__(self, name: str | os.PathLike[str] = "gemm_tiled", **parameters: int) -> None:
        super().__init__(name, parameters)

    def _source(self) -> dict[str, Any]:
        return {"model": self.name}


class Program(_Parameters):
    """A program: a launch file whose kernels are executed as machine code (docs/programs.md), with parameters.

        Program("programs/saxpy.toml", n=5000)

    With skip_matrix_values a run does not compute matrix products: it takes less time and has the same cycles. It is an error if control flow or
    addresses depend on a product.
    """

    __slots__ = ("arch", "skip_matrix_values")
    arch: str | None
    skip_matrix_values: bool

    def __init__(
        self, path: str | os.PathLike[str], arch: str | None = None, skip_matrix_values: bool = False, **parameters: int
    ) -> None:
        super().__init__(path, parameters)
        self.arch = arch
        self.skip_matrix_values = skip_matrix_values

    def _source(self) -> dict[str, Any]:
        return {"program": {"file": self.name, "arch": None if self.arch is None else _architecture(self.arch)}}


@dataclass(frozen=True)
class Applications:
    """Applications that share the GPU: traces, launch files and kernel models, each in the syntax of `--app`, with its priority and arrival; or
    "@MIX".

        Applications(["stream,priority=1", "programs/saxpy.toml,at=2000"])
    """

    apps: Sequence[str]
    once: bool = False
    """Run each application once; by default an application restarts when it ends, until all have ended once."""
    alone: bool = False
    """Also run each application alone, for STP, ANTT and fairness. Such runs are cached in results/alone."""

    def _source(self) -> dict[str, Any]:
        return {"applications": {"apps": list(self.apps), "once": self.once, "alone": self.alone}}

    def _settings(self) -> list[tuple[str, str]]:
        return []

    def __str__(self) -> str:
        return " + ".join(self.apps)


Workload = Trace | Model | Program | Applications


@dataclass(frozen=True)
class Beside:
    """In a plan: a workload of the GPU together with applications of the CPU cores, one per core separated by commas, or "@MIX".

        Beside("sgemm", cpu="mcf,lbm")
    """

    workload: Workload | str
    cpu: str


def _architecture(text: str) -> int:
    """Returns the number of an architecture: 80 for sm_80."""
    found = re.fullmatch("sm_([0-9]{2,3})", text)
    if found is None:
        raise _native.UsageError(f"arch is {text!r}; an architecture is written as sm_70")
    return int(found.group(1))


def as_workload(given: Workload | str) -> Workload:
    """Returns a workload; a text is a kernel model."""
    if isinstance(given, str):
        return Model(given)
    if isinstance(given, (Trace, Model, Program, Applications)):
        return given
    raise TypeError(f"{type(given).__name__} as a workload, expected Trace, Model, Program, Applications or the name of a kernel model")


def models() -> dict[str, str]:
    """Returns the built-in kernel models with their descriptions."""
    return dict(_native.models())


def policies() -> dict[str, dict[str, Any]]:
    """Returns the built-in policies with their descriptions, and their parameters with their meanings."""
    return {name: {"help": help_, "parameters": dict(parameters)} for name, help_, parameters in _native.policies()}
