"""Controllers and statistics written in Python: called at exact cycles of the simulated machine, in every run at the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from . import _native

__all__ = ["Bypass", "Controller", "CtaLimit", "Decided", "KernelCtas", "Owner", "Power", "Preempt", "Signal", "Statistic", "WarpLimit"]


@dataclass(frozen=True)
class CtaLimit:
    """At most `value` CTAs on an SM, or on each where `sm` is None. CTAs already there stay until they end."""

    value: int
    sm: int | None = None
    reason: str = ""
    """Why, for the timeline: a lower-case clause without a full stop."""
    knob: ClassVar[str] = "cta_limit"


@dataclass(frozen=True)
class WarpLimit:
    """The schedulers of an SM, or of each where `sm` is None, consider at most `value` of its warps: the oldest."""

    value: int
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "warp_limit"


@dataclass(frozen=True)
class Power:
    """Whether an SM, or each where `sm` is None, is active, paused or power-gated."""

    value: Literal["active", "paused", "gated"]
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "power"


@dataclass(frozen=True)
class Owner:
    """An SM, or each where `sm` is None, belongs to an application, by its number, where applications own SMs."""

    value: int
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "owner"


@dataclass(frozen=True)
class Preempt:
    """The CTAs of an SM, or of each where `sm` is None, are taken away and go on, or start again, wherever they are bound next."""

    value: Literal["switch", "flush", "drain", "drop"]
    sm: int | None = None
    reason: str = ""
    knob: ClassVar[str] = "preempt"


@dataclass(frozen=True)
class PreemptCta:
    """One CTA of a kernel, by its number, is taken away from an SM, if it is still there."""

    sm: int
    kernel: int
    cta: int
    value: Literal["switch", "flush", "drain", "drop"]
    reason: str = ""
    knob: ClassVar[str] = "preempt_cta"


@dataclass(frozen=True)
class KernelCtas:
    """At most `value` CTAs of a kernel, by its number, on an SM, or on each where `sm` is None, where kernels are interleaved; 0 keeps it away."""

    kernel: int
    value: int
    reason: str = ""
    sm: int | None = None
    knob: ClassVar[str] = "kernel_ctas"


@dataclass(frozen=True)
class Bypass:
    """A CTA of a kernel, by its number, bypasses the L1 if it starts on an SM, or on any where `sm` is None, while fewer than `value` do."""

    kernel: int
    value: int
    reason: str = ""
    sm: int | None = None
    knob: ClassVar[str] = "bypass"


@dataclass(frozen=True)
class Signal:
    """A number for the timeline, of an SM or of the whole machine."""

    name: str
    value: float
    sm: int | None = None
    knob: ClassVar[str] = "signal"


Decided = CtaLimit | WarpLimit | Power | Owner | Preempt | PreemptCta | KernelCtas | Bypass | Signal


class Controller:
    """A controller: derive from it, say when it is called and what it sets, and define `observe`.

        class Halve(Controller):
            name = "halve"
            knobs = ("cta_limit",)
            every = 2000

            def observe(self, seen):
                waited, issued = seen.sms["stall_scoreboard_memory"], seen.sms["issued"]
                return [CtaLimit(2, sm, "mostly waits for memory") for sm in range(len(seen.sms)) if waited[sm] > issued[sm]]

    An object belongs to one run. `observe` may use its own state and what it is given, nothing else: no clock, no file, no global, no random
    numbers without a seed. Then runs with the same input are the same, whatever the number of threads. An exception in it ends the run.
    """

    name: str = "controller"
    """Its name in timelines and messages."""
    knobs: Iterable[str] = ()
    """What it sets: `cta_limit`, `warp_limit`, `power`, `owner`, `preempt`, `preempt_cta`, `kernel_ctas`, `bypass`. Each knob of a run belongs to one
    controller."""
    every: int | None = None
    """It is called at every multiple of this number of core cycles."""
    on: Iterable[str] = ()
    """It is called when these events take effect: `start`, `kernel_started`, `kernel_ended`, `kernel_ready`, `kernel_dispatched`, `application_ended`,
    `cta_ended`, `sm_quiet`."""
    over: bool = False
    """Ends the run when it is true after an observation."""

    def observe(self, seen: _native.Seen) -> Iterable[Decided] | None:
        """Sees the machine at a cut and decides.

        `seen.sms["issued"]` is what each SM counted under that name since the last call; `seen.sms.columns` lists the names. So are
        `seen.partitions`, `seen.grid` and `seen.cpus`. `seen.cycle` is the cut, `seen.interval` the cycles since the last call, `seen.events` what
        happened meanwhile, `seen.facts` what is known of machine and kernels. Returns decisions and signals, which the timeline records.
        """
        raise NotImplementedError


class Statistic(Controller):
    """A statistic over time: derive from it, set `every`, and define `measure`. It sets nothing; its numbers are signals of the timeline.

    class Waiting(Statistic):
        name = "waiting"
        every = 1000

        def measure(self, seen):
            return {"warps": seen.sms.sum("resident_warp_cycles") / seen.interval / len(seen.sms)}
    """

    name = "statistic"

    def measure(self, seen: _native.Seen) -> dict[str, float | list[float]]:
        """Numbers by their names: one for the machine, or a list with one for each SM."""
        raise NotImplementedError

    def observe(self, seen: _native.Seen) -> list[Decided]:
        signals: list[Decided] = []
        for name, value in self.measure(seen).items():
            if isinstance(value, (int, float)):
                signals.append(Signal(name, float(value)))
            else:
                signals += [Signal(name, float(one), sm) for sm, one in enumerate(value)]
        return signals
