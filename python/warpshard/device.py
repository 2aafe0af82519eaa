"""CUDA from Python without a GPU: kernels execute immediately as the machine code of the simulated device, and `simulate` times them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._signature import Kind, of_mangled, of_source
from .control import Controller
from .machine import Machine
from .result import Result
from .run import Policy, Simulation, Until, as_machine, as_policies, request

__all__ = ["Array", "Device", "Kernel", "Launched", "Module"]

Extent = int | Sequence[int]

# Architectures of listings.
_ARCHITECTURES = (70, 75, 80, 86, 90)


class Array:
    """An array in the memory of a device. Its memory is freed when the object is garbage collected."""

    def __init__(self, device: Device, address: int, shape: tuple[int, ...], dtype: npt.DTypeLike, owner: object = None) -> None:
        self.device = device
        self.address = address
        """Device address of the first byte."""
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._owner = owner

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    def get(self) -> npt.NDArray[Any]:
        """Copies the array to the host."""
        return np.frombuffer(self.device._native.read(self.address, self.nbytes), self.dtype).reshape(self.shape).copy()

    def set(self, values: npt.ArrayLike) -> None:
        """Copies values to the device, converted to the array's element type.

        Raises ValueError: the shapes differ.
        """
        made = _contiguous(values, self.dtype)
        if made.shape != self.shape:
            raise ValueError(f"values of shape {made.shape} for an array of shape {self.shape}")
        self.device._native.write(self.address, made.tobytes())

    def at(self, index: int) -> _native.Pointer:
        """Returns a pointer to an element, by its index in the flattened array, as an argument of a kernel."""
        return _native.Pointer(self.address + index * self.dtype.itemsize)

    def free(self) -> None:
        """Frees the memory immediately; a kernel that accesses it stops with an error."""
        if self._owner is None:
            self._owner = self
            self.device._native.free(self.address)

    def __del__(self) -> None:
        # The interpreter may be shutting down.
        if getattr(self, "_owner", self) is None:
            self.free()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.get() if dtype is None else self.get().astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<Array of {'x'.join(map(str, self.shape)) or '1'} {self.dtype} at {self.address:#x}>"


@dataclass(frozen=True)
class Launched:
    """Instruction counts of an executed launch."""

    warp_instructions: int
    """Executed warp instructions."""
    thread_instructions: int
    """Active lanes of the warp instructions."""


def _extent(given: Extent, what: str) -> list[int]:
    extents = list(given) if isinstance(given, Sequence) else [given]
    if not 1 <= len(extents) <= 3 or not all(isinstance(one, (int, np.integer)) for one in extents):
        raise TypeError(f"{what} {given!r}, expected a whole number or up to three of them")
    return [int(one) for one in extents]


def _contiguous(values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Returns values in device layout: contiguous, with the last index fastest."""
    made = np.asarray(values, dtype=dtype, order="C")
    if made.dtype.hasobject:
        raise TypeError(f"values of type {made.dtype}, expected numbers: an array of the device cannot hold Python objects")
    return made


# Element types of tensor maps, by NumPy's names.
_TENSOR_TYPES = {
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "int32": "i32",
    "uint64": "u64",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


class Kernel:
    """A kernel of a module: `kernel[grid, block](...)`, or `kernel[grid, block, shared](...)` with dynamic shared memory in bytes. `shape` is for
    clusters and cooperative launches.
    """

    def __init__(self, module: Module, name: str, shared: int, registers: int, sizes: list[int], kinds: list[Kind] | None) -> None:
        self.module = module
        self.name = name
        """Name of the kernel in the listing."""
        self.shared = shared
        """Bytes of static shared memory per CTA."""
        self.registers = registers
        """Registers per thread."""
        self.sizes = sizes
        """Bytes of each parameter."""
        self._kinds = kinds if kinds is not None and len(kinds) == len(sizes) else [None] * len(sizes)

    def __getitem__(self, shape: tuple[Any, ...]) -> _Launch:
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError("kernel[grid, block] or kernel[grid, block, shared], each of grid and block a number or up to three")
        grid, block, *shared = shape
        return self.shape(grid, block, int(shared[0]) if shared else 0)

    def shape(
        self,
        grid: Extent,
        block: Extent,
        shared: int = 0,
        *,
        cluster: Extent | None = None,
        cooperative: bool = False,
        programmatic: bool = False,
    ) -> _Launch:
        """Returns the kernel with the shape of a launch, to be called with its arguments: `kernel.shape(8, 256, cluster=2)(x, y)`.

        cluster: cluster size in CTAs; not needed for a kernel that was compiled for a cluster size.
        cooperative: a cooperative launch, in which CTAs may synchronize with `this_grid().sync()`.
        programmatic: a programmatic dependent launch. In a run it may begin when every CTA of the previous launch has executed
            `griddepcontrol.launch_dependents` or has ended.
        """
        clusters = [] if cluster is None else _extent(cluster, "cluster")
        return _Launch(self, (_extent(grid, "grid"), _extent(block, "block"), shared), (clusters, cooperative, programmatic))

    def _argument(self, number: int, value: Any) -> Any:
        kind, size = (self._kinds[number], self.sizes[number]) if number < len(self.sizes) else (None, 0)

        def refuse(expected: str) -> TypeError:
            return TypeError(f"argument {number} of {self.name} is {type(value).__name__} {value!r:.60}, expected {expected}")

        if isinstance(value, Array):
            if value.device is not self.module.device:
                raise ValueError(f"argument {number} of {self.name} is an array of another device")
            return _native.Pointer(value.address)
        if isinstance(value, np.ndarray):
            raise refuse("an array of the device: dev.array(...) copies it there")
        if isinstance(value, np.generic):
            return value.tobytes()
        if isinstance(value, bool):
            value = int(value)
        if kind == "pointer" and not isinstance(value, _native.Pointer):
            raise refuse("an array of the device")
        if kind == "integer" and isinstance(value, float):
            raise refuse("an integer")
        if kind == "float" and isinstance(value, int):
            value = float(value)
        if kind == "float" and isinstance(value, float) and size == 2:
            return np.float16(value).tobytes()
        return value

    def __repr__(self) -> str:
        return f"<Kernel {self.name}: {len(self.sizes)} parameters, {self.registers} registers, {self.shared} B shared>"


class _Launch:
    """A kernel with the shape of a launch; calling it executes the kernel."""

    def __init__(self, kernel: Kernel, shape: tuple[list[int], list[int], int], together: tuple[list[int], bool, bool]) -> None:
        self._kernel, self._shape, self._together = kernel, shape, together

    def __call__(self, *arguments: Any) -> Launched:
        """Executes the kernel and waits for its end.

        A Python number is converted to the type of the parameter, which is derived from the kernel's name or source. If the type is unknown (an
        `extern "C"` kernel of a listing), an int is passed as an integer and a float as a floating-point number. numpy scalars and bytes are
        passed unchanged. Output of `printf` goes to standard output.

        Raises KernelError: the launch is invalid, or the kernel stopped with an error. TypeError: an argument has the wrong kind.
        """
        kernel = self._kernel
        made = [kernel._argument(number, value) for number, value in enumerate(arguments)]
        module = kernel.module
        native = module.device._native
        try:
            return Launched(*native.launch((module._number, kernel.name), self._shape, self._together, made))
        finally:
            text, left_out = native.printed()
            if text:
                print(text, end="")
            if left_out:
                warnings.warn(f"{left_out} calls of printf in {kernel.name} printed nothing: there was no room for their text", stacklevel=2)


class Module:
    """A compiled source or a listing: its kernels are attributes (`module.saxpy`) and items (`module["saxpy"]`)."""

    def __init__(self, device: Device, number: int, listing: Path, source: str | None) -> None:
        self.device = device
        self.listing = listing
        """Text of the listing with the machine code."""
        self._number = number
        self._source = source
        self._known = {name: (shared, registers, sizes) for name, shared, registers, sizes in device._native.kernels(number)}

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels in the listing."""
        return list(self._known)

    def __getitem__(self, name: str) -> Kernel:
        """Returns a kernel by its name in the listing or its identifier in the source.

        Raises KernelError: there is no such kernel, or there are several.
        """
        whole = self.device._native.kernel_name(self._number, name)
        kinds = of_mangled(whole)
        if kinds is None and self._source is not None:
            kinds = of_source(self._source, name)
        shared, registers, sizes = self._known[whole]
        return Kernel(self, whole, shared, registers, sizes, kinds)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except _native.KernelError as error:
            raise AttributeError(str(error)) from error

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._known]

    def set_constant(self, name: str, values: npt.ArrayLike) -> None:
        """Copies values to a variable in constant memory, for later launches."""
        self.device._native.set_constant(self._number, name, _contiguous(values).tobytes())

    def variable(self, name: str, dtype: npt.DTypeLike, shape: int | tuple[int, ...] | None = None) -> Array:
        """Returns a variable in device memory as an array.

        Raises KeyError: there is no such variable. ValueError: it has another size.
        """
        found = self.device._native.variable(self._number, name)
        if found is None:
            raise KeyError(f"{self.listing.name} has no variable {name!r} in device memory")
        address, size = found
        if shape is None:
            shape = (size // np.dtype(dtype).itemsize,)
        made = Array(self.device, address, (shape,) if isinstance(shape, int) else shape, dtype, owner=self)
        if made.nbytes > size:
            raise ValueError(f"{name} has {size} bytes, not {made.nbytes}")
        return made

    def __repr__(self) -> str:
        return f"<Module {self.listing.name}: {', '.join(self.kernels)}>"


def _architecture(machine: Machine) -> str:
    """Returns the best architecture that the machine's GPU executes according to its compute capability, or sm_70 by default."""
    capability = machine["gpu.compute_capability"]
    if capability in (None, "unknown"):
        return "sm_70"
    own = int(capability.replace(".", ""))
    return f"sm_{max((arch for arch in _ARCHITECTURES if arch // 10 == own // 10 and arch <= own), default=70)}"


class Device:
    """A simulated device of a machine, with an interface similar to CuPy and PyCUDA:

        dev = Device("v100")
        mod = dev.compile('__global__ void twice(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }')
        x = dev.array(np.arange(1000, dtype=np.float32))
        mod.twice[4, 256](x, 1000)
        x.get()          # the result of the kernel
        dev.simulate()   # the time of all launches so far on the machine

    A call executes the kernel immediately, instruction by instruction, so that the host's control flow may depend on the results. An access
    outside of all arrays, an endless loop or a barrier that not all threads reach raises `KernelError`, which names instruction, CTA, warp and
    thread.

    machine: the machine whose timing `simulate` uses.
    arch: the target architecture; by default the architecture of the machine, or sm_70.
    name: the workload's name in results.
    check: also detects races between warps on shared memory, at some cost.
    """

    def __init__(self, machine: Machine | str = "v100", arch: str | None = None, *, name: str = "python", check: bool = False) -> None:
        self.machine = as_machine(machine)
        self.arch = arch or _architecture(self.machine)
        self._native = _native.Device(name, check)
        self._arrays = 0
        self._modules: dict[str, Module] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _scratch(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="warpshard-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def compile(self, source: str | os.PathLike[str], options: Sequence[str] = (), name: str = "kernel") -> Module:
        """Compiles CUDA C, a text or the path of a .cu file, with NVRTC; the same source is compiled once.

        NVRTC and nvdisasm come from the packages that `pip install warpshard[cuda]` installs; see docs/programs.md.
        Raises UsageError: a package is missing. WorkloadError: the source is invalid, with the compiler's messages.
        """
        path = Path(source) if isinstance(source, os.PathLike) or (source.endswith(".cu") and "\n" not in source) else None
        text = path.read_text(encoding="utf-8") if path else str(source)
        key = hashlib.sha256("\0".join([text, self.arch, *options]).encode()).hexdigest()
        if key not in self._modules:
            if path is None:
                path = self._scratch() / f"{name}-{key[:8]}.cu"
                path.write_text(text, encoding="utf-8")
            self._modules[key] = self._compiled(path, text, options)
        return self._modules[key]

    def _compiled(self, path: Path, text: str | None, options: Sequence[str] = ()) -> Module:
        made = len(list(self._scratch().glob(f"{path.stem}.*.sass")))
        listing = self._scratch() / f"{path.stem}.{f'{made + 1}.' if made else ''}{self.arch}.sass"
        command = [sys.executable, "-c", _native.compiler(), str(path), self.arch, str(listing), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 3:
            raise _native.UsageError(done.stderr.strip())
        if done.returncode != 0:
            raise _native.WorkloadError(f"{path} does not compile for {self.arch}:\n{done.stderr.strip()}")
        return Module(self, self._native.load(listing), listing, text)

    def load(self, listing: str | os.PathLike[str]) -> Module:
        """Loads a listing from `compile` or `warpshard compile`, or a .cubin, which nvdisasm converts to a listing.

        Raises KernelError: the file is no listing, or its architecture differs from the architecture of the first listing.
        """
        path = Path(listing)
        if path.suffix == ".cubin":
            return self._compiled(path, None)
        return Module(self, self._native.load(path), path, None)

    def _name(self, name: str | None) -> str:
        self._arrays += 1
        return name or f"array {self._arrays}"

    def array(self, values: npt.ArrayLike, name: str | None = None) -> Array:
        """Copies values to a new array on the device. `name` is the array's name in messages."""
        made = _contiguous(values)
        return Array(self, self._native.allocate(self._name(name), made.tobytes()), made.shape, made.dtype)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32, name: str | None = None) -> Array:
        """Returns an array of zeros, without a copy from the host."""
        return self._reserved(shape, dtype, name, True)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32, name: str | None = None) -> Array:
        """Returns an uninitialised array: reads before a write are counted in `warnings`."""
        return self._reserved(shape, dtype, name, False)

    def _reserved(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, name: str | None, zeroed: bool) -> Array:
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        made = Array(self, 0, extents, dtype, owner=self)
        made.address = self._native.reserve(self._name(name), made.nbytes, zeroed)
        made._owner = None
        return made

    def tensor_map(
        self,
        array: Array,
        box: Sequence[int],
        *,
        strides: Sequence[int] = (),
        steps: Sequence[int] = (),
        swizzle: int | None = None,
        type: str | None = None,
        nan: bool = False,
    ) -> bytes:
        """Returns a tensor map of an array, with which the tensor memory accelerator copies boxes of it: an argument `const __grid_constant__
        CUtensorMap`.

        box: elements of a box in each dimension, in the order of the array's shape.
        strides: bytes between neighbours in all dimensions but the last; dense by default.
        steps: element strides: every n-th element of each dimension is copied.
        swizzle: 32, 64 or 128 bytes of a row in shared memory within which pieces of 16 bytes are exchanged.
        type: the type of the elements if it differs from the type of the array, as in launch files: "tf32" of float32, "bf16" of uint16.
        nan: fills elements outside of the array with NaN instead of zeros.
        Raises KernelError: the hardware does not support the map.
        """
        kind = type or _TENSOR_TYPES.get(array.dtype.name)
        if kind is None:
            raise TypeError(f"a tensor map has no type for {array.dtype}")
        places = [[int(one) for one in reversed(given)] for given in (array.shape, strides, box, steps)]
        return self._native.tensor_map(array.address, kind, (places[0], places[1], places[2], places[3]), swizzle, nan)

    @property
    def launches(self) -> int:
        """Number of kernels launched since the device was created or cleared."""
        return self._native.launched

    @property
    def warnings(self) -> dict[str, int]:
        """Number of reads of uninitialised memory, by array."""
        return dict(self._native.unwritten())

    def clear(self) -> None:
        """Discards the recorded launches and copies; arrays keep their contents. The next `simulate` times only later launches."""
        self._native.clear()

    def start(
        self,
        *,
        threads: int | None = None,
        policy: Policy | Sequence[Policy] | None = None,
        interval: int | None = None,
        max_cycles: int | None = None,
        seed: int = 1,
        sample: str | None = None,
        cpu: Sequence[str] | str = (),
        cpu_warm: int | None = None,
        cpu_measure: int | None = None,
        gpu_first: bool = False,
        until: Until = "both",
        epoch: int | None = None,
        relaxed: bool = False,
        pin: bool = False,
        machine: Machine | str | None = None,
    ) -> Simulation:
        """Times all launches so far in the background; see `simulate`. The device can be used meanwhile."""
        made = self.machine if machine is None else as_machine(machine)
        named, controllers = as_policies(policy)
        asked = request(
            made,
            None,
            policies=named,
            threads=threads,
            interval=interval,
            max_cycles=max_cycles,
            seed=seed,
            sample=sample,
            cpu=cpu,
            cpu_warm=cpu_warm,
            cpu_measure=cpu_measure,
            gpu_first=gpu_first,
            until=until,
            epoch=epoch,
            relaxed=relaxed,
            pin=pin,
        )
        return Simulation(_native.Run(asked, made._native, self._native, list[Controller](controllers)))

    def simulate(
        self,
        *,
        threads: int | None = None,
        policy: Policy | Sequence[Policy] | None = None,
        interval: int | None = None,
        max_cycles: int | None = None,
        seed: int = 1,
        sample: str | None = None,
        cpu: Sequence[str] | str = (),
        cpu_warm: int | None = None,
        cpu_measure: int | None = None,
        gpu_first: bool = False,
        until: Until = "both",
        epoch: int | None = None,
        relaxed: bool = False,
        pin: bool = False,
        machine: Machine | str | None = None,
        progress: bool | None = None,
    ) -> Result:
        """Times all launches so far, including copies to the device: `result.kernels` has a row for each launch.

        The launches are executed again, as the machine's SMs request their CTAs. `machine` overrides the device's machine; the other arguments are
        the arguments of `warpshard.simulate`.
        Raises KernelError: nothing was launched.
        """
        return self.start(
            threads=threads,
            policy=policy,
            interval=interval,
            max_cycles=max_cycles,
            seed=seed,
            sample=sample,
            cpu=cpu,
            cpu_warm=cpu_warm,
            cpu_measure=cpu_measure,
            gpu_first=gpu_first,
            until=until,
            epoch=epoch,
            relaxed=relaxed,
            pin=pin,
            machine=machine,
        ).result(progress)

    def __repr__(self) -> str:
        return f"<Device {self.machine.name} ({self.arch}): {self.launches} launches>"
