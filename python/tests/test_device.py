"""CUDA from Python: kernels execute immediately, and are timed together."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import warpshard as ws
from warpshard._signature import of_mangled, of_source

NVRTC = all(importlib.util.find_spec(name) for name in ("nvidia.cuda_nvrtc", "triton")) if importlib.util.find_spec("nvidia") else False
needs_nvrtc = pytest.mark.skipif(not NVRTC, reason="SKIPPED: NVRTC and nvdisasm cannot be had (pip install warpshard[cuda])")


@pytest.fixture
def saxpy(repository):
    device = ws.Device("tiny")
    return device, device.load(repository / "programs/saxpy.sm_70.sass").saxpy


def test_a_listing_executes_immediately(saxpy):
    device, kernel = saxpy
    n = 5000
    host = np.arange(n, dtype=np.float32)
    x, y = device.array(host, "x"), device.zeros(n)
    done = kernel[(n + 255) // 256, 256](n, 2.5, x, y)
    assert np.array_equal(y.get(), 2.5 * host) and np.array_equal(np.asarray(x), host)
    assert done.warp_instructions > n / 32 and done.thread_instructions > n
    y.set(host)
    kernel[1, 256](n, np.float32(-1), y, y)
    assert np.array_equal(y.get(), 0 * host) and device.launches == 2 and "2 launches" in repr(device)


def test_host_loops_depend_on_results(repository):
    device = ws.Device("tiny")
    module = device.load(repository / "programs/bfs.sm_70.sass")
    # The graph is a path of 40 vertices, and an unreachable vertex.
    n = 41
    rows = device.array(np.array([*range(40), 39, 39], np.int32))
    edges = device.array(np.arange(1, 40, dtype=np.int32))
    level = device.array(np.array([0] + [-1] * 40, np.int32))
    changed, current = device.zeros(1, np.int32), 0
    while True:
        changed.set([0])
        module.expand[1, 64](rows, edges, level, current, changed, n)
        if not changed.get()[0]:
            break
        current += 1
    assert level.get().tolist() == [*range(40), -1] and device.launches == 40
    assert len(device.simulate().kernels) == 40


def test_the_timing_equals_a_program_with_the_same_launches(repository):
    program = ws.simulate("tiny", ws.Program(repository / "programs/saxpy.toml", n=5000))
    device = ws.Device("tiny")
    kernel = device.load(repository / "programs/saxpy.sm_70.sass").saxpy
    x, y = (device.array(np.zeros(5000, np.float32), name) for name in "xy")
    kernel[40, 256](5000, 2.5, x, y)
    result = device.simulate()
    for part in ("total", "components", "kernels"):
        assert result.stats[part] == program.stats[part], part
    assert "configuration" not in result.stats and "made by the calling program" in result.run_toml


def test_a_run_without_products_of_matrices_has_the_same_cycles(repository):
    computed, skipped = (
        ws.simulate("h100", ws.Program(repository / "programs/tensor/wgmma_gemm.toml", skip_matrix_values=skip)) for skip in (False, True)
    )
    assert computed.stats["total"] == skipped.stats["total"]
    assert any("--matrix-values skip" in str(note) for note in skipped.stats["notes"])


def test_everything_launched_so_far_is_timed(saxpy):
    device, kernel = saxpy
    x = device.array(np.ones(4096, np.float32))
    for _ in range(3):
        kernel[16, 256](4096, 1.0, x, x)
    assert x.get()[0] == 8.0
    first, again = device.simulate(threads=1), device.simulate(threads=2)
    assert len(first.kernels) == 3 and first.files["stats.json"] == again.files["stats.json"]
    kernel[16, 256](4096, 1.0, x, x)
    assert len(device.simulate().kernels) == 4 and x.get()[0] == 16.0
    larger = device.simulate(machine=ws.Machine("tiny", {"gpu.sms": 8}))
    assert len(larger.sms) == 8 and larger.cycles < device.simulate().cycles
    device.clear()
    with pytest.raises(ws.KernelError, match="nothing was launched"):
        device.simulate()
    kernel[16, 256](4096, 1.0, x, x)
    assert len(device.simulate(interval=100, policy="static_limit:ctas=1").kernels) == 1 and x.get()[0] == 32.0


def test_execution_errors_are_exceptions_with_the_executors_text(saxpy):
    device, kernel = saxpy
    x, y = device.array(np.zeros(100, np.float32), "x"), device.zeros(50, name="y")
    with pytest.raises(ws.KernelError) as raised:
        kernel[1, 128](100, 1.0, x, y)
    text = str(raised.value)
    assert "the closest is `y` of 200 bytes, in which it would be byte 200" in text and raised.value.exit_code == 4
    assert all(word in text for word in ("pc 0x", "kernel saxpy", "CTA 0", "warp 1", "thread 50"))
    assert device.launches == 0
    kernel[1, 128](50, 1.0, x, y)
    assert device.launches == 1 and device.simulate().ended_by == "completed"


def test_arrays_keep_shape_and_type():
    device = ws.Device("tiny")
    for values in (np.float32(3), np.zeros((0, 3)), np.arange(12).reshape(3, 4)[:, ::2], np.array([True, False]), np.arange(8, dtype=np.float16)):
        made = device.array(values)
        got = made.get()
        assert (got.shape, got.dtype) == (made.shape, made.dtype) == (values.shape, values.dtype) and np.array_equal(got, values)
    with pytest.raises(TypeError, match="cannot hold Python objects"):
        device.array(np.array(["a", 1], dtype=object))
    with pytest.raises(ValueError, match="shape"):
        device.zeros(3).set([1, 2])


def test_ctrl_c_ends_a_kernel(repository):
    program = f"""
import signal
import numpy as np, warpshard as ws

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell without job control may have had ignored
dev = ws.Device("tiny")
kernel = dev.load({str(repository / "programs/saxpy.sm_70.sass")!r}).saxpy
x = dev.zeros(1 << 22)
print("begun", flush=True)
while True:
    kernel[1 << 14, 256](1 << 22, 1.0, x, x)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "begun\n"
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and running.returncode != 0


def test_freed_arrays_cannot_be_accessed(saxpy):
    device, kernel = saxpy
    x, y = device.array(np.zeros(64, np.float32), "x"), device.zeros(64)
    address = x.at(0)
    del x
    with pytest.raises(ws.KernelError, match="freed"):
        kernel[1, 64](64, 1.0, address, y)
    y.free()
    with pytest.raises(ws.KernelError, match="outside of every array"):
        y.get()


def test_reads_of_uninitialised_memory_are_counted(saxpy):
    device, kernel = saxpy
    x, y = device.empty(64, name="forgotten"), device.zeros(64)
    kernel[1, 64](64, 1.0, x, y)
    assert device.warnings == {"forgotten": 64}


def test_code_without_execution_units_is_rejected(repository):
    with pytest.raises(ws.WorkloadError, match="has tensor instructions.*compute capability 2.0"):
        ws.simulate("gtx480", ws.Program(repository / "programs/tensor/hgemm.toml"))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda kernel, x: kernel[1, 64](64, 1.0, x), ws.KernelError, "takes 4 arguments"),
        (lambda kernel, x: kernel[1, 64](1 << 40, 1.0, x, x), ws.KernelError, "an integer of 4 bytes"),
        (lambda kernel, x: kernel[1, 64](x, 1.0, x, x), ws.KernelError, "argument 0 of kernel saxpy"),
        (lambda kernel, x: kernel[1, 64](64, 1.0, np.zeros(64), x), TypeError, "dev.array"),
        (lambda kernel, x: kernel[1, 64](64, "a", x, x), TypeError, "str as an argument"),
        (lambda kernel, x: kernel[0, 64](64, 1.0, x, x), ws.KernelError, "grid is out of range"),
        (lambda kernel, x: kernel[1, 2000](64, 1.0, x, x), ws.KernelError, "block is out of range"),
        (lambda kernel, x: kernel[1, (64, 32)](64, 1.0, x, x), ws.KernelError, "at most 1024 threads"),
        (lambda kernel, x: kernel[1, 64, 1 << 20](64, 1.0, x, x), ws.KernelError, "shared is out of range"),
        (lambda kernel, x: kernel[1.5, 64](64, 1.0, x, x), TypeError, "grid 1.5, expected a whole number"),
        (lambda kernel, x: kernel[1, (1, 1, 1, 1)](64, 1.0, x, x), TypeError, "or up to three of them"),
        (lambda kernel, x: kernel[1](64, 1.0, x, x), TypeError, r"kernel\[grid, block\]"),
        (lambda kernel, x: kernel[1, 64](64, 1.0, ws.Device("tiny").zeros(64), x), ValueError, "another device"),
    ],
)
def test_invalid_launches_are_rejected(saxpy, call, kind, message):
    device, kernel = saxpy
    with pytest.raises(kind, match=message):
        call(kernel, device.zeros(64))
    assert device.launches == 0


def test_unknown_kernels_and_wrong_files_are_explained(saxpy, repository, tmp_path):
    device, kernel = saxpy
    with pytest.raises(AttributeError, match="no kernel `saxpi`"):
        kernel.module.saxpi
    with pytest.raises(ws.KernelError, match="the listing cannot be read"):
        device.load(tmp_path / "nothing.sass")
    with pytest.raises(ws.KernelError, match="another architecture"):
        device.load(repository / "programs/saxpy.sm_80.sass")
    with pytest.raises(ws.WorkloadError, match="not a cubin"):
        (tmp_path / "x.cubin").write_bytes(b"nothing")
        device.load(tmp_path / "x.cubin")


@needs_nvrtc
def test_cuda_c_is_compiled_and_executed():
    device = ws.Device("v100")
    module = device.compile(
        """
        __constant__ float factors[4];
        __device__ int calls;
        template <typename T> __device__ T square(T x) { return x * x; }
        __global__ void scale(float *out, const float *in, float offset, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) out[i] = factors[i % 4] * square(in[i]) + offset;
            if (threadIdx.x == 0) atomicAdd(&calls, 1);
        }
        extern "C" __global__ void shift(double by, double *x) { x[threadIdx.x] += by; }
        """
    )
    factors = np.array([1, 2, 3, 4], np.float32)
    module.set_constant("factors", factors)
    host = np.arange(1000, dtype=np.float32)
    x, out = device.array(host), device.zeros(1000)
    module.scale[4, 256](out, x, 1, 1000)
    assert np.array_equal(out.get(), factors[np.arange(1000) % 4] * host**2 + 1)
    assert module.variable("calls", np.int32).get() == [4]
    y = device.zeros(32, np.float64)
    module.shift[1, 32](3, y)
    assert np.array_equal(y.get(), np.full(32, 3.0))
    assert module.kernels == ["_Z5scalePfPKffi", "shift"] or sorted(module.kernels) == ["_Z5scalePfPKffi", "shift"]
    assert len(device.simulate().kernels) == 2
    with pytest.raises(TypeError, match="expected an integer"):
        module.scale[4, 256](out, x, 1.0, 1000.5)
    with pytest.raises(TypeError, match="an array of the device"):
        module.scale[4, 256](0, x, 1.0, 1000)


@needs_nvrtc
def test_printf_goes_to_standard_output(capsys):
    device = ws.Device("v100")
    module = device.compile('extern "C" __global__ void k(int by) { if (threadIdx.x < 2) printf("thread %d: %f\\n", threadIdx.x * by, 0.5); }')
    module.k[1, 32](3)
    assert capsys.readouterr().out == "thread 0: 0.500000\nthread 3: 0.500000\n"


@needs_nvrtc
def test_errors_of_the_compiler_are_shown_and_sources_are_compiled_once(tmp_path):
    device = ws.Device("v100")
    with pytest.raises(ws.WorkloadError, match=r"does not compile for sm_70:\n.*undefined"):
        device.compile("__global__ void k() { undefined_function(); }")
    source = 'extern "C" __global__ void k(int *x) { x[threadIdx.x] = WHAT; }'
    options = ["-DWHAT=7"]
    module = device.compile(source, options)
    assert device.compile(source, options) is module and device.compile(source, ["-DWHAT=8"]) is not module
    path = tmp_path / "seven.cu"
    path.write_text(source)
    x = device.zeros(32, np.int32)
    device.compile(path, ["-DWHAT=9"]).k[1, 32](x)
    assert x.get()[31] == 9 and device.compile(str(path), ["-DWHAT=9"]).listing.name == "seven.sm_70.sass"
    assert device.compile(path, ["-DWHAT=10"]).listing.name == "seven.2.sm_70.sass"


@needs_nvrtc
def test_races_on_shared_memory_are_found_with_check():
    source = """extern "C" __global__ void k(int *x) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        x[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    with pytest.raises(ws.KernelError, match="race"):
        device = ws.Device("v100", check=True)
        device.compile(source).k[1, 64](device.zeros(64, np.int32))
    device = ws.Device("v100")
    device.compile(source).k[1, 64](device.zeros(64, np.int32))


def test_parameter_kinds_come_from_names_and_sources():
    assert of_mangled("_Z5saxpyifPKfPf") == ["integer", "float", "pointer", "pointer"]
    assert of_mangled("_Z1kv") == [] and of_mangled("_Z1kPKfS0_m") == ["pointer", None, "integer"]
    assert of_mangled("_Z1k4PairdPS_") == [None, "float", "pointer"] and of_mangled("_Z1kDhb") == ["float", "integer"]
    for name in ("saxpy", "_ZN2ns1kEi", "_Z1kIfEvPT_i", "_Z1kU5blah"):
        assert of_mangled(name) is None, name
    source = "// __global__ void k(int)\n__global__ void __launch_bounds__(256, 2) k(const float* __restrict__ x,\n size_t n, double a, Pair p, half h) {"
    assert of_source(source, "k") == ["pointer", "integer", "float", None, "float"]
    assert of_source("__global__ void k() {}", "k") == [] and of_source("__global__ void kk(int) {}", "k") is None


@pytest.mark.parametrize("machine, arch", [("v100", "sm_70"), ("rtx2060", "sm_75"), ("rtx3070", "sm_86"), ("gtx480", "sm_70"), ("tiny", "sm_70")])
def test_code_is_compiled_for_the_machines_architecture(machine, arch):
    assert ws.Device(machine).arch == arch
    assert ws.Device(ws.Machine(machine, {"gpu.compute_capability": "9.0"})).arch == "sm_90"
    assert ws.Device(machine, "sm_80").arch == "sm_80"


def test_programmatic_dependent_launches_overlap_the_previous_kernel(repository):
    device = ws.Device("h100")
    module = device.load(repository / "programs/micro/dependent.sm_90.sass")
    values, made, combined = device.array(np.arange(64, dtype=np.uint32)), device.zeros(64, np.uint32), device.zeros(64, np.uint32)
    dependent = module.consume.shape(1, 64, programmatic=True)
    with pytest.raises(ws.KernelError, match="first launch of the device"):
        dependent(combined, made, 0, 100)
    module.produce[1, 64](made, values, 1000)
    dependent(combined, made, 0, 100)
    kernels = device.simulate().kernels
    assert kernels["started"][1] < kernels["ended"][0] < kernels["ended"][1]
    values.set(np.zeros(64, np.uint32))
    with pytest.raises(ws.KernelError, match="follows a copy from the host"):
        dependent(combined, made, 0, 100)


def test_tensor_maps_clusters_and_cooperative_launches_have_hardware_limits(repository):
    device = ws.Device("h100")
    module = device.load(repository / "programs/triton/matmultma-2048-w8s3.sm_90.sass")
    # The tile contains products of 64 ones; bfloat16 values are stored as uint16.
    one, rows, depth = 0x3F80, 128, 64
    a, b = (device.array(np.full(shape, one, np.uint16)) for shape in ((rows, depth), (depth, rows)))
    c = device.zeros((rows, rows), np.uint16)
    arguments = []
    for array, box in ((a, (128, 64)), (b, (64, 64)), (c, (128, 64))):
        arguments += [device.tensor_map(array, box, type="bf16", swizzle=128), *array.shape, array.shape[1], 1]
    arguments += [rows, rows, depth, 0, 0]
    module.matmul_tma.shape(1, 256, 98328)(*arguments)
    assert (c.get() == 0x4280).all()
    with pytest.raises(ws.KernelError, match="does not divide the grid"):
        module.matmul_tma.shape(1, 256, 98328, cluster=2)(*arguments)
    with pytest.raises(ws.KernelError, match="its rows do not fit"):
        device.tensor_map(a, (128, 128), type="bf16", swizzle=128)
    with pytest.raises(TypeError, match="no type for bool"):
        device.tensor_map(device.zeros((16, 16), np.bool_), (16, 16))
    with pytest.raises(ws.KernelError, match="at most 4096"):
        module.matmul_tma.shape(5000, 256, 98328, cooperative=True)(*arguments)
