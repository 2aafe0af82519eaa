#!/usr/bin/env python3
"""Makes a launch file of a kernel that Triton compiled: `warpshard exec` executes it without a GPU.

    python3 programs/tools/triton_launch.py kernel.cubin kernel.json --out folder
    warpshard exec folder/kernel.toml

kernel.json says how the kernel is launched: `grid`, `block`, `arguments` (pairs of a name and a number, a tensor with its sizes in `tensor`,
`stride` and `type`, or a `descriptor` with `strides` and `block`), and Triton's own `metadata` (`shared`, `tensordesc_meta`). The folder gets
the listing, the launch file, and the bytes of random inputs. For kernels add, softmax, layernorm, rmsnorm, silu_multiply, gemv, matmul,
matmul_tma and flash it also gets what NumPy computes, with which the launch file compares the output. `--rows N` launches no more than N
CTAs of the first dimension, and then only what these write is compared.

It needs NumPy, and nvdisasm as `warpshard compile` does."""
import argparse, json, pathlib, re, subprocess, sys
import numpy as np

TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "int32": "i32"}
WIDTHS = {"bf16": 2, "f16": 2, "f32": 4, "i32": 4}

def narrow(values, kind):
    """Values as the bytes of a type, rounded to the nearest."""
    if kind == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "f32": np.float32, "i32": np.int32}[kind])

def wide(stored, kind):
    return (stored.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else stored.astype(np.float32)

def expected(name, tensors, numbers, causal):
    """What the kernel's output should hold, in double precision from the rounded inputs; None for another kernel."""
    x = {key: value.astype(np.float64) for key, value in tensors.items()}
    if name == "add":
        return x["x_ptr"] + x["y_ptr"]
    if name == "softmax":
        e = np.exp(x["x_ptr"] - x["x_ptr"].max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    if name == "layernorm":
        c = x["x_ptr"] - x["x_ptr"].mean(axis=1, keepdims=True)
        return c / np.sqrt((c * c).mean(axis=1, keepdims=True) + numbers["eps"]) * x["weight_ptr"] + x["bias_ptr"]
    if name == "rmsnorm":
        return x["x_ptr"] / np.sqrt((x["x_ptr"] ** 2).mean(axis=1, keepdims=True) + numbers["eps"]) * x["weight_ptr"]
    if name == "silu_multiply":
        return x["x_ptr"] / (1 + np.exp(-x["x_ptr"])) * x["y_ptr"]
    if name == "gemv":
        return x["w_ptr"] @ x["x_ptr"]
    if name in ("matmul", "matmul_tma"):
        a, b = (tensors[key].astype(np.float32) for key in (("a_ptr", "b_ptr") if name == "matmul" else ("a_desc", "b_desc")))
        return (a @ b).astype(np.float64)
    if name == "flash":
        q, k, v = (tensors[key].astype(np.float32) for key in ("q_ptr", "k_ptr", "v_ptr"))
        out = np.empty(q.shape)
        for head in range(q.shape[0]):
            s = q[head] @ k[head].T * numbers["scale"]
            if causal:
                s = np.where(np.tril(np.ones(s.shape, dtype=bool)), s, -np.inf)
            e = np.exp(s - s.max(axis=1, keepdims=True))
            out[head] = e @ v[head] / e.sum(axis=1, keepdims=True)
        return out
    return None

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cubin", type=pathlib.Path)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, help="most CTAs of the grid's first dimension")
    options = parser.parse_args()
    facts = json.loads(options.json.read_text())
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.cubin.stem
    arch = re.search(r"\d+", facts["metadata"]["arch"]).group()
    listing = options.out / f"{stem}.sass"
    compiler = pathlib.Path(__file__).resolve().parents[2] / "crates/program/src/compile.py"
    subprocess.run([sys.executable, compiler, options.cubin, f"sm_{arch}", listing], check=True)
    text = listing.read_text()
    kernel = re.search(r"^kernel (\S+)", text, re.M).group(1)
    static = int(re.search(r"^shared (\d+)", text, re.M).group(1))
    parameters = [part for part in re.search(r"^parameters \S+ \S+ ?(.*)", text, re.M).group(1).split()]
    random = np.random.default_rng(1)
    buffers, maps, arguments, tensors, numbers = [], [], [], {}, {}
    last = [name for name, value in facts["arguments"] if isinstance(value, dict)][-1]
    descriptors = iter(facts["metadata"].get("tensordesc_meta") or [])
    for name, value in facts["arguments"]:
        if not isinstance(value, dict):
            numbers[name] = value
            arguments.append(repr(value))
            continue
        sizes = value.get("tensor") or value["descriptor"]
        kind = TYPES[value["type"].split(".")[-1]]
        count = int(np.prod(sizes))
        if name == last:
            buffers.append(f'{name} = {{ type = "{kind}", count = {count}, contents = {{ constant = 0 }} }}')
        else:
            stored = narrow(random.standard_normal(count), kind)
            stored.tofile(options.out / f"{stem}.{name}.bin")
            tensors[name] = wide(stored, kind).reshape(sizes)
            buffers.append(f'{name} = {{ type = "{kind}", count = {count}, contents = {{ file = "{stem}.{name}.bin" }} }}')
        if "tensor" in value:
            arguments.append(f'"&{name}"')
            continue
        # A descriptor is passed as its map, and the sizes and strides that the map has.
        meta = next(descriptors)
        box = list(reversed(meta["block_size"]))
        strides = [stride * WIDTHS[kind] for stride in reversed(value["strides"])][1:]
        swizzle = {0: "", 1: ", swizzle = 32", 2: ", swizzle = 64", 3: ", swizzle = 128"}[meta["swizzle"]]
        maps.append(f'{name}_map = {{ buffer = "{name}", size = {list(reversed(sizes))}, strides = {strides}, box = {box}{swizzle} }}')
        arguments += [f'"&{name}_map"', *map(str, sizes), *map(str, value["strides"])]
    # Memory for profiles and scratch, which these kernels do not use.
    arguments += ["0"] * (len(parameters) - len(arguments))
    grid = list(facts["grid"])
    if options.rows:
        grid[0] = min(grid[0], options.rows)
    lines = [f'name = "{stem}"', f'modules = {{ sm_{arch} = "{listing.name}" }}', "limit = 1000000000", "", "[buffers]", *buffers, ""]
    if maps:
        lines += ["[tensors]", *maps, ""]
    lines += ["[[launches]]", f'kernel = "{kernel}"', f"grid = {grid}", f"block = {facts['block']}",
              f"shared = {facts['metadata']['shared']}", f"arguments = [{', '.join(arguments)}]", "", "[[outputs]]", f'buffer = "{last}"', "show = 4"]
    want = expected(kernel, tensors, numbers, facts["constants"].get("CAUSAL", False)) if grid == list(facts["grid"]) else None
    if want is not None:
        kind = TYPES[dict(facts["arguments"])[last]["type"].split(".")[-1]]
        narrow(want.ravel(), kind).tofile(options.out / f"{stem}.expected.bin")
        relative = 2 ** (-7 if kind == "bf16" else -10)
        absolute = float(np.abs(want).max()) * (2 ** -8 if "mat" in kernel or kernel in ("flash", "gemv") else 2 ** -12)
        lines += [f'expected = {{ file = "{stem}.expected.bin" }}', f"tolerance = {{ absolute = {absolute}, relative = {relative} }}"]
    (options.out / f"{stem}.toml").write_text("\n".join(lines) + "\n")

if __name__ == "__main__":
    main()
