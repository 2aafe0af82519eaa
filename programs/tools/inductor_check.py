#!/usr/bin/env python3
"""Executes kernels that TorchInductor generated, without a GPU, and compares their results with PyTorch's on the CPU.

    python3 programs/tools/inductor_check.py --out work
    python3 programs/tools/inductor_check.py softmax matmul --out work --capability 80

TorchInductor generates the Triton kernels of each function below for a GPU that this script describes, Triton compiles them, and `warpshard compile
--meta` makes a listing of each. One launch file has the kernels of a function in the order in which its wrapper launches them, with inputs in files, and
what PyTorch computes on the CPU as the expected output. Prints one row a function, and ends with 1 where a result differs. It needs PyTorch with CUDA
(tested with 2.15.0) and Triton (3.9.0); neither a GPU nor its driver."""
import argparse, contextlib, functools, json, operator, os, pathlib, re, subprocess, sys, tempfile, time, types

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="inductor"))
import torch
import triton
from triton.backends.compiler import GPUTarget

# Multiprocessors, bytes of shared memory of a multiprocessor and of a CTA, by compute capability.
DEVICES = {80: (108, 167936, 166912), 86: (46, 102400, 101376), 90: (132, 233472, 232448)}
F32, BF16, I64 = torch.float32, torch.bfloat16, torch.int64


def functions():
    """Name: function, shapes and types of its inputs, and the relative and absolute error that its output may have."""
    f = torch.nn.functional
    def norm(x, residual, weight):
        y = x + residual
        return y * torch.rsqrt(y.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(y.dtype) * weight
    def rotary(x, angles):
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    def adam(weight, gradient, mean, square):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient * gradient
        return weight - 1e-3 * mean / (square.sqrt() + 1e-8)
    def loss(logits, target):
        return -torch.log_softmax(logits, -1).gather(1, target.unsqueeze(1)).mean()
    def attention(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v
    exact, single, half = (0, 0), (2 ** -18, 2 ** -18), (2 ** -7, 2 ** -6)
    return {
        "gelu": (lambda x, b: f.gelu(x + b), [((300, 512), F32), ((512,), F32)], single),
        "softmax": (lambda x: torch.softmax(x, -1), [((64, 1000), F32)], single),
        "layernorm": (lambda x, w, b: f.layer_norm(x, (768,), w, b), [((64, 768), F32), ((768,), F32), ((768,), F32)], single),
        "rmsnorm": (norm, [((32, 1024), BF16), ((32, 1024), BF16), ((1024,), BF16)], half),
        "swiglu": (lambda x, y: f.silu(x) * y, [((64, 1376), BF16), ((64, 1376), BF16)], half),
        "rotary": (rotary, [((16, 64, 64), F32), ((64, 32), F32)], single),
        "adam": (adam, [((5000,), F32), ((5000,), F32), ((5000,), F32), ((5000,), F32)], (2 ** -18, 2 ** -16)),
        "loss": (loss, [((128, 1000), F32), ((128,), I64)], single),
        "embedding": (lambda table, at: f.embedding(at, table) * 8.0, [((1000, 128), F32), ((256,), I64)], exact),
        "columns": (lambda x: x.sum(0), [((4096, 96), F32)], (2 ** -15, 2 ** -12)),
        "argmax": (lambda x: x.argmax(-1), [((64, 700), F32)], exact),
        "running": (lambda x: x.cumsum(-1), [((16, 512), F32)], (2 ** -16, 2 ** -14)),
        "transpose": (lambda x, y: x.transpose(0, 1) + y, [((200, 130), F32), ((130, 200), F32)], exact),
        "matmul": (lambda a, b: torch.relu(a @ b), [((256, 128), BF16), ((128, 192), BF16)], (2 ** -7, 2 ** -8)),
        "attention": (attention, [((4, 64, 64), BF16), ((4, 64, 64), BF16), ((4, 64, 64), BF16)], (2 ** -6, 2 ** -7)),
    }


def pretend(capability):
    """Lets PyTorch and Triton generate code for a GPU that is not there."""
    count, shared, optin = DEVICES[capability]
    properties = types.SimpleNamespace(
        name="simulated", major=capability // 10, minor=capability % 10, multi_processor_count=count, total_memory=1 << 36, warp_size=32,
        max_threads_per_multi_processor=1536 if capability == 86 else 2048, regs_per_multiprocessor=65536, max_threads_per_block=1024, shared_memory_per_block=49152,
        shared_memory_per_block_optin=optin, shared_memory_per_multiprocessor=shared, L2_cache_size=1 << 25, clock_rate=1 << 20, is_integrated=0, gcnArchName="")
    cuda = torch.cuda
    changed = {"is_available": True, "device_count": 1, "current_device": 0, "_lazy_init": None, "get_device_properties": properties,
               "get_device_capability": (capability // 10, capability % 10), "get_rng_state": torch.zeros(16, dtype=torch.uint8), "set_rng_state": None,
               "_exchange_device": 0, "_maybe_exchange_device": 0, "set_device": None, "synchronize": None}
    for name, value in changed.items():
        setattr(cuda, name, lambda *_, value=value, **__: value)
    from torch._dynamo.device_interface import CudaInterface
    changed = {"is_available": True, "device_count": 1, "current_device": 0, "get_compute_capability": capability, "is_triton_capable": True,
               "raise_if_triton_unavailable": None, "synchronize": None}
    for name, value in changed.items():
        setattr(CudaInterface, name, staticmethod(lambda *_, value=value, **__: value))
    CudaInterface.Worker.get_device_properties = staticmethod(lambda *_: properties)
    CudaInterface.Worker.current_device = staticmethod(lambda: 0)
    import torch.utils._triton as known
    known.has_triton = known.has_triton_package = lambda *_: True
    target = GPUTarget("cuda", capability, 32)
    triton.runtime.driver.set_active(types.SimpleNamespace(
        get_current_target=lambda: target, get_current_device=lambda: 0, get_current_stream=lambda *_: 0, is_active=lambda: True,
        get_active_torch_device=lambda: torch.device("cuda", 0), get_device_interface=lambda: cuda))


class Generated(Exception):
    """The code of a graph."""


def generate(function, inputs):
    """The wrapper's source that TorchInductor generates of a function."""
    from torch._inductor import compile_fx, config, decomposition
    from torch._inductor.graph import GraphLowering
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    config.triton.cudagraphs, config.compile_threads, config.fx_graph_cache, config.triton.native_matmul = False, 1, False, True
    config.comprehensive_padding = False
    found = []
    def stop(graph):
        code = graph.codegen()[0]
        found.append(getattr(code, "value", code))
        raise Generated
    GraphLowering.compile_to_module = stop
    with FakeTensorMode():
        fakes = [torch.empty(shape, dtype=kind, device="cuda") for shape, kind in inputs]
        graph = make_fx(lambda *x: (function(*x),), decomposition_table=decomposition.select_decomp_table())(*fakes)
        with contextlib.suppress(Generated, Exception):
            compile_fx.compile_fx_inner(graph, fakes)
    if not found:
        compile_fx.compile_fx_inner(graph, fakes)
    return found[0]


class Launch:
    """A generated kernel: compiles it, and notes the arguments of its launches."""

    def __init__(self, name, source, folder, launches):
        from torch._inductor.runtime import triton_helpers
        self.name, self.launches = name, launches
        file = folder / f"{name}.py"
        file.write_text(source)
        module = {"__file__": str(file), "__name__": name}
        triton_helpers.set_driver_to_gpu = lambda: None
        exec(compile(source, file, "exec"), module)
        self.tuner = module[name]
        self.config = self.tuner.configs[0]
        made, own = [], triton.compile
        triton.compile = lambda *arguments, **named: made.append(own(*arguments, **named)) or made[-1]
        self.tuner._precompile_config(self.config)
        triton.compile = own
        self.binary = made[0]

    def run(self, *arguments, stream=None, **_):
        from torch._inductor.runtime.triton_heuristics import GridExpr
        # The wrapper passes all parameters but those of the configuration; those that are no constants reach the kernel.
        signature = self.tuner.triton_meta["signature"]
        values = dict(zip((name for name in signature if name not in self.config.kwargs), arguments))
        names = [name for name, kind in signature.items() if kind != "constexpr"]
        grid = GridExpr.from_meta(self.tuner.inductor_meta, self.config)
        scope = {**values, **self.config.kwargs}
        for line in grid.prefix:
            exec(line, {"max": max, "min": min}, scope)
        sizes = [eval(str(size), {"max": max, "min": min}, scope) for size in (grid.x_grid, grid.y_grid, grid.z_grid)]
        self.launches.append((self, names, values, sizes))


def executed(source, tensors, folder):
    """Calls a wrapper with tensors of the CPU; gives the launches that it made and its outputs."""
    launches = []
    scope = {"__name__": "wrapper", "__file__": str(folder / "wrapper.py")}
    # What needs a device is replaced: kernels are noted, and memory is the host's.
    source = source.replace("with torch.cuda._DeviceGuard(0):", "if True:").replace("torch.cuda.set_device(0)", "pass")
    source = re.sub(r"^(from torch._C import _cuda_getCurrentRawStream as get_raw_stream)$", "get_raw_stream = lambda _: None", source, flags=re.M)
    source = re.sub(r"^empty_strided_cuda = .*$", "empty_strided_cuda = lambda size, stride, kind: torch.empty_strided(size, stride, dtype=kind)", source, flags=re.M)
    source = re.sub(r"^(assert_size_stride\w*|assert_alignment) = .*$", r"\1 = lambda *_: None", source, flags=re.M)
    source = source.replace("async_compile = AsyncCompile()", "async_compile = own_compile")
    class Own:
        triton = staticmethod(lambda name, text, **_: Launch(name, text, folder, launches))
        wait = staticmethod(lambda _: None)
    scope["own_compile"] = Own
    exec(compile(source, "wrapper", "exec"), scope)
    return launches, scope["call"](list(tensors))


def listing_of(launch, folder, options):
    """The listing of a kernel, made by warpshard."""
    binary, stem = launch.binary, launch.name
    (folder / f"{stem}.cubin").write_bytes(binary.asm["cubin"])
    metadata = {key: value for key, value in binary.metadata._asdict().items() if isinstance(value, (int, str, bool, type(None)))}
    metadata["arch"] = f"sm{options.capability}"
    listing = folder / f"{stem}.sass"
    own = next(item for item in launch.launches if item[0] is launch)
    arguments = [[name, {"tensor": [1], "type": "float32"} if torch.is_tensor(own[2][name]) else own[2][name]] for name in own[1]]
    facts = {"grid": own[3], "block": [32 * binary.metadata.num_warps, 1, 1], "arguments": arguments, "metadata": metadata}
    (folder / f"{stem}.json").write_text(json.dumps(facts))
    made = subprocess.run([options.warpshard, "compile", folder / f"{stem}.cubin", "--meta", folder / f"{stem}.json", "--out", listing,
                           "--python", options.python or sys.executable], capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(made.stderr)
    return listing.read_text(), re.search(r"^arguments = \[(.*)\]$", listing.with_suffix(".toml").read_text(), re.M).group(1)


def merged(listings):
    """One listing of several of a kernel each. Variables and constants of a module come before all kernels; a bank of addresses is one kernel's."""
    heads, kernels = zip(*(listing.split("\nkernel ", 1) for listing in listings))
    facts = ("symbol", "constant", "address")
    lines = [line for line in heads[0].splitlines() if line.split(" ")[0] not in (*facts, "global")]
    banks = set()
    for head, kernel in zip(heads, kernels):
        own = [line for line in head.splitlines() if line.split(" ")[0] in facts and f"c[0x{line.split(' ')[1]}]" in kernel]
        used = {line.split(" ")[1] for line in own}
        if used & banks:
            raise SystemExit("two kernels have constants in one bank")
        banks |= used
        lines += own + [line for line in head.splitlines() if line.startswith("global ") and line not in lines]
    return "\n".join([*lines, *("kernel " + kernel.rstrip("\n") for kernel in kernels)]) + "\n"


def raw(tensor, whole=False):
    """The bytes of a tensor; `whole` takes those of its memory, in their order there."""
    if whole:
        tensor = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return tensor.flatten().view(torch.uint8).numpy()

TYPES = {F32: "f32", BF16: "bf16", I64: "i64", torch.int32: "i32", torch.float16: "f16", torch.bool: "u8", torch.int8: "i8", torch.uint8: "u8", torch.float64: "f64"}


def check(name, options):
    """Makes and executes the launch file of a function; gives the kernels, warp instructions and what is wrong, if anything."""
    function, inputs, (relative, absolute) = functions()[name]
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    tensors = [torch.randint(0, 900, shape) if kind == I64 else torch.randn(shape).abs().to(kind) if name == "adam" else torch.randn(shape).to(kind) for shape, kind in inputs]
    want = function(*(tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors))
    launches, (output, *_) = executed(generate(function, inputs), tensors, folder)
    # Buffers by the storage of their tensors, in the order of their first use.
    storages, buffers, texts, lines = {}, [], {}, []
    for launch, names, values, grid in launches:
        if launch.name not in texts:
            texts[launch.name] = listing_of(launch, folder, options)
        arguments = []
        for parameter in names:
            value = values[parameter]
            if not torch.is_tensor(value):
                arguments.append(repr(value))
                continue
            storage = value.untyped_storage()
            if storage.data_ptr() not in storages:
                storages[storage.data_ptr()] = f"b{len(storages)}"
                buffer, kind = storages[storage.data_ptr()], value.dtype
                known = any(storage.data_ptr() == tensor.untyped_storage().data_ptr() for tensor in tensors)
                contents = ""
                if known:
                    raw(value, whole=True).tofile(folder / f"{buffer}.bin")
                    contents = f', contents = {{ file = "{buffer}.bin" }}'
                buffers.append(f'{buffer} = {{ type = "{TYPES[kind]}", count = {storage.nbytes() // value.element_size()}{contents} }}')
            at = value.storage_offset() * value.element_size()
            arguments.append(f'"&{storages[storage.data_ptr()]}{f" + {at}" if at else ""}"')
        # Scratch memory of Triton, where the kernel has parameters for it.
        arguments += ["0"] * (texts[launch.name][1].count(",") + 1 - len(arguments))
        lines.append(f'[[launches]]\nkernel = "{launch.binary.metadata.name}"\ngrid = {grid}\nblock = [{32 * launch.binary.metadata.num_warps}]\n'
                     f'shared = {launch.binary.metadata.shared}\narguments = [{", ".join(arguments)}]\n')
    (folder / "all.sass").write_text(merged([text for text, _ in texts.values()]))
    # The output as it lies in memory.
    raw(torch.empty_strided(output.size(), output.stride(), dtype=output.dtype).copy_(want), whole=True).tofile(folder / "expected.bin")
    result = storages[output.untyped_storage().data_ptr()]
    (folder / "all.toml").write_text(
        f'# Kernels of TorchInductor {torch.__version__}: {name}\nname = "{name}"\nmodules = {{ sm_{options.capability} = "all.sass" }}\nlimit = 100000000\n\n[buffers]\n' + "\n".join(buffers)
        + "\n\n" + "\n".join(lines) + f'\n[[outputs]]\nbuffer = "{result}"\nexpected = {{ file = "expected.bin" }}\n'
        + f"tolerance = {{ absolute = {absolute!r}, relative = {relative!r} }}\nshow = 4\n")
    done = subprocess.run([options.warpshard, "exec", folder / "all.toml", "--mix", "0"], capture_output=True, text=True)
    count = re.search(r": ([\d,]+) warp instruction", done.stdout)
    wrong = (done.stdout + done.stderr).strip() if done.returncode else ""
    return len(texts), count.group(1) if count else "-", wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="FUNCTION", help="all of them by default: " + ", ".join(functions()))
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for kernels, listings and launch files")
    parser.add_argument("--capability", type=int, default=90, choices=sorted(DEVICES), help="compute capability, 90 by default")
    parser.add_argument("--warpshard", default="warpshard", help="the program")
    parser.add_argument("--python", help="the interpreter that `warpshard compile` starts, this one by default")
    options = parser.parse_args()
    options.out = options.out.resolve()
    pretend(options.capability)
    differs = False
    for name in options.names or functions():
        started = time.time()
        kernels, count, wrong = check(name, options)
        differs |= bool(wrong)
        print(f"{name:12} {kernels:2} kernels {count:>12} warp instructions {time.time() - started:6.1f} s  {wrong or 'equal'}", flush=True)
    sys.exit(differs)


if __name__ == "__main__":
    main()
