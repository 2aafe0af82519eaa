"""Controllers and statistics written in Python. They are called at exact cycles of the simulated machine, which are the same in every run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from . import _native

__all__ = ["Bypass", "Controller", "CtaLimit", "Decided", "KernelCtas", "Owner", "Power", "Preempt", "Signal", "Statistic", "WarpLimit"]


@dataclass(frozen=True)
class CtaLimit:
    """Limits an SM, or each SM if `sm` is None, to `value` CTAs. Resident CTAs stay until they end."""

    value: int
    sm: int | None = None
    reason: str = ""
    """The reason for the timeline: a lower-case clause without a full stop."""
    knob: ClassVar[str] = "cta_limit"


@dataclass(frozen=True)
class WarpLimit:
    """Limits the schedulers of an SM, or of each SM if `sm` is None, to the `value` oldest warps."""

    value: int
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "warp_limit"


@dataclass(frozen=True)
class Power:
    """Sets the state of an SM, or of each SM if `sm` is None: active, paused or power-gated."""

    value: Literal["active", "paused", "gated"]
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "power"


@dataclass(frozen=True)
class Owner:
    """Assigns an SM, or each SM if `sm` is None, to an application by its number, if applications own SMs."""

    value: int
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "owner"


@dataclass(frozen=True)
class Preempt:
    """Preempts the CTAs of an SM, or of each SM if `sm` is None. The CTAs resume, or start again, on the SM to which they are bound next."""

    value: Literal["switch", "flush", "drain", "drop"]
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "preempt"


@dataclass(frozen=True)
class PreemptCta:
    """Preempts one CTA of a kernel, by its number, on an SM, if the CTA is still resident."""

    sm: int
    kernel: int
    cta: int
    value: Literal["switch", "flush", "drain", "drop"]
    reason: str = ""
    knob: ClassVar[str] = "preempt_cta"


@dataclass(frozen=True)
class KernelCtas:
    """Limits an SM, or each SM if `sm` is None, to `value` CTAs of a kernel, by its number, if kernels are interleaved; 0 excludes the kernel."""

    kernel: int
    value: int
    reason: str = ""
    sm: int | None = None
    knob: ClassVar[str] = "kernel_ctas"


@dataclass(frozen=True)
class Bypass:
    """Lets a new CTA of a kernel, by its number, on an SM, or on any SM if `sm` is None, bypass the L1 while fewer than `value` CTAs do."""

    kernel: int
    value: int
    reason: str = ""
    sm: int | None = None
    knob: ClassVar[str] = "bypass"


@dataclass(frozen=True)
class Signal:
    """A value for the timeline, of an SM or of the whole machine."""

    name: str
    value: float
    sm: int | None = None
    knob: ClassVar[str] = "signal"


Decided = CtaLimit | WarpLimit | Power | Owner | Preempt | PreemptCta | KernelCtas | Bypass | Signal


class Controller:
    """A controller: a subclass declares its triggers and its knobs, and defines `observe`.

        class Halve(Controller):
            name = "halve"
            knobs = ("cta_limit",)
            every = 2000

            def observe(self, seen):
                waited, issued = seen.sms["stall_scoreboard_memory"], seen.sms["issued"]
                return [CtaLimit(2, sm, "mostly waits for memory") for sm in range(len(seen.sms)) if waited[sm] > issued[sm]]

    An object belongs to one run. `observe` may use only its own state and its argument: no clock, no file, no global, no random numbers without a
    seed. Then runs with the same input are equal for any number of threads. An exception in `observe` ends the run.
    """

    name: str = "controller"
    """Name of the controller in timelines and messages."""
    knobs: Iterable[str] = ()
    """Knobs of the controller: `cta_limit`, `warp_limit`, `power`, `owner`, `preempt`, `preempt_cta`, `kernel_ctas`, `bypass`. Each knob of a run
    belongs to one controller.
    """
    every: int | None = None
    """Calls `observe` at every multiple of this number of core cycles."""
    on: Iterable[str] = ()
    """Events that trigger calls to `observe`: `start`, `kernel_started`, `kernel_ended`, `kernel_ready`, `kernel_dispatched`, `application_ended`,
    `cta_ended`, `sm_quiet`.
    """
    over: bool = False
    """Ends the run if it is true after an observation."""

    def observe(self, seen: _native.Seen) -> Iterable[Decided] | None:
        """Observes the machine at a cut and returns decisions.

        `seen.sms["issued"]` is the count of this counter since the last call, for each SM; `seen.sms.columns` lists the names of counters.
        `seen.partitions`, `seen.grid` and `seen.cpus` have the same form. `seen.cycle` is the cycle of the cut, `seen.interval` the cycles since
        the last call, `seen.events` the events since the last call, `seen.facts` the static facts about machine and kernels. Returns decisions and
        signals, which the timeline records.
        """
        raise NotImplementedError


class Statistic(Controller):
    """A statistic over time: a subclass sets `every` and defines `measure`. It sets no knobs; its values are signals of the timeline.

        class Waiting(Statistic):
            name = "waiting"
            every = 1000

            def measure(self, seen):
                return {"warps": seen.sms.sum("resident_warp_cycles") / seen.interval / len(seen.sms)}
    """

    name = "statistic"

    def measure(self, seen: _native.Seen) -> dict[str, float | list[float]]:
        """Returns values by name: a number for the machine, or a list with a number for each SM."""
        raise NotImplementedError

    def observe(self, seen: _native.Seen) -> list[Decided]:
        signals: list[Decided] = []
        for name, value in self.measure(seen).items():
            if isinstance(value, (int, float)):
                signals.append(Signal(name, float(value)))
            else:
                signals += [Signal(name, float(one), sm) for sm, one in enumerate(value)]
        return signals
