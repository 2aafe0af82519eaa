"""warpshard: a parallel, deterministic simulator of GPUs and CPU+GPU chips.

    >>> import warpshard as ws
    >>> machine = ws.Machine("v100")
    >>> machine.gpu.sms = 56
    >>> result = ws.simulate(machine, ws.Model("vecadd", n=65536))
    >>> result.cycles, result.kernels.to_pandas()

Results are those of the command line, byte by byte, for any number of threads. `docs/python.md` describes the package.
"""

from . import plot, triton
from ._native import (
    CheckpointError,
    ConfigError,
    Counters,
    DeadlockError,
    Error,
    InternalError,
    KernelError,
    OutputError,
    Pointer,
    UsageError,
    WorkloadError,
    __version__,
    build,
)
from ._native import Seen as Observation
from .control import Bypass, Controller, CtaLimit, KernelCtas, Owner, Power, Preempt, PreemptCta, Signal, Statistic, WarpLimit
from .device import Array, Device, Kernel, Launched, Module
from .machine import Key, Machine, machines
from .plan import Plan, PlanProgress, StoredSweep, Sweeping
from .result import Result, Summary
from .run import Progress, Simulation, simulate, start
from .sweep import Sweep, sweep
from .table import Table
from .workload import Applications, Beside, Model, Program, Trace, models, policies

__all__ = [
    "Applications",
    "Array",
    "Beside",
    "Bypass",
    "CheckpointError",
    "ConfigError",
    "Controller",
    "Counters",
    "CtaLimit",
    "DeadlockError",
    "Device",
    "Error",
    "InternalError",
    "Kernel",
    "KernelCtas",
    "KernelError",
    "Key",
    "Launched",
    "Machine",
    "Model",
    "Module",
    "Observation",
    "OutputError",
    "Owner",
    "Plan",
    "PlanProgress",
    "Pointer",
    "Power",
    "Preempt",
    "PreemptCta",
    "Program",
    "Progress",
    "Result",
    "Signal",
    "Simulation",
    "Statistic",
    "StoredSweep",
    "Summary",
    "Sweep",
    "Sweeping",
    "Table",
    "Trace",
    "UsageError",
    "WarpLimit",
    "WorkloadError",
    "__version__",
    "build",
    "machines",
    "models",
    "plot",
    "policies",
    "simulate",
    "start",
    "sweep",
    "triton",
]
