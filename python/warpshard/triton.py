"""Triton kernels on a simulated device: Triton compiles for the device's architecture, and its code is executed and timed like any other code.

The module imports Triton on first use. Triton needs no GPU to compile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _native
from .device import Array, Device, Kernel, Launched, _extent

__all__ = ["TritonKernel", "kernel"]

_TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "i1",
}

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]


class TritonKernel:
    """A function of `triton.jit` on a device: `kernel[grid](x, y, n, BLOCK=1024)`."""

    def __init__(self, device: Device, function: Any, num_warps: int, num_stages: int) -> None:
        self.device = device
        self.function = function
        self.num_warps = num_warps
        self.num_stages = num_stages
        self._compiled: dict[str, tuple[Kernel, int, list[int]]] = {}

    def __getitem__(self, grid: Grid) -> Callable[..., Launched]:
        def launch(*arguments: Any, **named: Any) -> Launched:
            return self._launch(grid, arguments, named)

        return launch

    def _launch(self, grid: Grid, arguments: tuple[Any, ...], named: dict[str, Any]) -> Launched:
        names = list(self.function.arg_names)
        given = dict(zip(names, arguments))
        options = {key: named.pop(key) for key in ("num_warps", "num_stages", "num_ctas") if key in named}
        given.update(named)
        unknown = [name for name in given if name not in names]
        missing = [parameter.name for parameter in self.function.params if parameter.name not in given and not parameter.has_default]
        if unknown or missing or len(arguments) > len(names):
            what = f"unknown {', '.join(unknown)}" if unknown else f"missing {', '.join(missing)}" if missing else f"{len(arguments)} arguments"
            raise TypeError(f"{self.function.__name__}: {what}; its parameters are {', '.join(names)}")
        for parameter in self.function.params:
            given.setdefault(parameter.name, parameter.default)
        constants = {parameter.name: given[parameter.name] for parameter in self.function.params if parameter.is_constexpr}
        signature = {name: "constexpr" if name in constants else _type_of(name, given[name]) for name in names}
        num_warps, num_ctas = options.get("num_warps", self.num_warps), options.get("num_ctas", 1)
        compiled, shared, scratch = self._compile(given, signature, constants, (num_warps, options.get("num_stages", self.num_stages), num_ctas))
        extents = _extent(grid(given) if callable(grid) else grid, "grid")
        passed = [_passed(given[name], signature[name]) for name in names if name not in constants]
        # Triton adds pointers to scratch memory, a number of bytes per CTA, if the compiled kernel has parameters for them.
        ctas = int(np.prod(extents)) * num_ctas
        held = [self.device.zeros(size * ctas, np.uint8) if size else _native.Pointer(0) for size in scratch]
        passed += held[: len(compiled.sizes) - len(passed)]
        extents[0] *= num_ctas
        return compiled.shape(extents, 32 * num_warps, shared, cluster=num_ctas if num_ctas > 1 else None)(*passed)

    def _compile(
        self, given: dict[str, Any], signature: dict[str, str], constants: dict[str, Any], numbers: tuple[int, int, int]
    ) -> tuple[Kernel, int, list[int]]:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        names = list(signature)
        # As in Triton's launcher, pointers and numbers that are multiples of 16 allow wider loads.
        aligned = [name for name in names if _divisible(given[name]) and name not in constants]
        key = repr((self.function.cache_key, signature, constants, aligned, numbers))
        if key not in self._compiled:
            attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in aligned}
            source = ASTSource(self.function, signature, {(names.index(name),): value for name, value in constants.items()}, attributes)
            target = GPUTarget("cuda", int(self.device.arch.removeprefix("sm_")), 32)
            made = triton.compile(source, target=target, options=dict(zip(("num_warps", "num_stages", "num_ctas"), numbers)))
            name = f"{self.function.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.cubin"
            path = self.device._scratch() / name
            path.write_bytes(made.asm["cubin"])
            module = self.device.load(path)
            scratch = [int(getattr(made.metadata, f"{name}_scratch_size", 0) or 0) for name in ("global", "profile")]
            self._compiled[key] = (module[module.kernels[0]], int(made.metadata.shared), scratch)
        compiled, shared, scratch = self._compiled[key]
        # Triton's `shared` excludes the kilobyte that the system reserves since Hopper; the static part in the listing includes it.
        reserved = 1024 if int(self.device.arch.removeprefix("sm_")) >= 90 else 0
        return compiled, max(0, shared + reserved - compiled.shared), scratch

    def __repr__(self) -> str:
        return f"<TritonKernel {self.function.__name__} for {self.device.arch}>"


def _type_of(name: str, value: Any) -> str:
    if isinstance(value, Array):
        if value.dtype.name not in _TYPES:
            raise TypeError(f"{name}: Triton has no type for {value.dtype}")
        return "*" + _TYPES[value.dtype.name]
    if isinstance(value, (bool, np.bool_)):
        return "i1"
    if isinstance(value, (int, np.integer)):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, (float, np.floating)):
        return "fp32"
    raise TypeError(f"{name} is {type(value).__name__}, expected an array of the device or a number")


def _divisible(value: Any) -> bool:
    if isinstance(value, Array):
        return value.address % 16 == 0
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value % 16 == 0


def _passed(value: Any, type_: str) -> Any:
    if isinstance(value, Array):
        return value
    return float(value) if type_ == "fp32" else int(value)


def kernel(device: Device, function: Any, num_warps: int = 4, num_stages: int = 3) -> TritonKernel:
    """Returns a function of `triton.jit` for a device.

        @triton.jit
        def add(x, y, n, BLOCK: tl.constexpr): ...

        run = warpshard.triton.kernel(dev, add)
        run[(n + 1023) // 1024,](x, y, n, BLOCK=1024)

    num_warps, num_stages: as in Triton; a launch may override them, and may set num_ctas, the cluster size in CTAs.
    """
    return TritonKernel(device, function, num_warps, num_stages)
