#!/usr/bin/env python3
"""Executes kernels compiled by Triton, without a GPU, and compares their results with NumPy.

    python3 programs/tools/triton_check.py folder/*.cubin --out work
    python3 programs/tools/triton_check.py matmul.cubin --out work --ctas 4

Each cubin needs its JSON file in the same folder (docs/programs.md, Kernels of Triton). `warpshard compile --meta` makes listing and launch file; this
script fills the inputs with seeded random numbers and adds NumPy's results in double precision, for kernels add, softmax, layernorm, rmsnorm,
silu_multiply, gemv, matmul, matmul_tma and flash. `--ctas N` launches only the first N CTAs of a grid; the outputs of the others must stay
zero. Prints one row per kernel, and ends with 1 if a result differs. It needs NumPy, and nvdisasm as `warpshard compile` does."""
import argparse, json, pathlib, re, subprocess, sys, time
import numpy as np

TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}

def narrow(values, kind):
    """Converts values to a type, rounded to nearest."""
    if kind == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "f32": np.float32}[kind])

def wide(stored, kind):
    return (stored.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else stored.astype(np.float32)

def by_rows(name, x, numbers):
    """Returns the rows or elements per CTA, for kernels that divide them among the CTAs."""
    x = {key: value.astype(np.float64) for key, value in x.items()}
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
    return x["w_ptr"] @ x["x_ptr"]

def expected(name, tensors, numbers, constants, shape, grid):
    """Returns the expected output after the CTAs of `grid`, in double precision from the rounded inputs; None for other kernels."""
    out = np.zeros(shape)
    if name in ("add", "softmax", "layernorm", "rmsnorm", "silu_multiply", "gemv"):
        # The CTAs divide the first dimension among them.
        each = constants.get("BLOCK_N") or (constants["BLOCK"] if len(shape) == 1 else 1)
        rows = min(grid[0] * each, shape[0])
        own = {key: value[:rows] if value.ndim == 2 or list(value.shape) == shape and name != "gemv" else value for key, value in tensors.items()}
        out[:rows] = by_rows(name, own, numbers)
    elif name in ("matmul", "matmul_tma"):
        a, b = (tensors[key].astype(np.float64) for key in (("a_ptr", "b_ptr") if name == "matmul" else ("a_desc", "b_desc")))
        m, n, group = constants["BLOCK_M"], constants["BLOCK_N"], constants["GROUP"]
        across, down = shape[1] // n, shape[0] // m
        for number in range(grid[0]):
            first = number // (group * across) * group
            height = min(down - first, group)
            row, column = first + number % (group * across) % height, number % (group * across) // height
            rows, columns = slice(row * m, (row + 1) * m), slice(column * n, (column + 1) * n)
            out[rows, columns] = a[rows] @ b[:, columns]
    elif name == "flash":
        for head in range(grid[1]):
            q, k, v = (tensors[key][head].astype(np.float64) for key in ("q_ptr", "k_ptr", "v_ptr"))
            rows = slice(0, grid[0] * constants["BLOCK_M"])
            s = q[rows] @ k.T * numbers["scale"]
            if constants["CAUSAL"]:
                s = np.where(np.tril(np.ones(s.shape, dtype=bool)), s, -np.inf)
            e = np.exp(s - s.max(axis=1, keepdims=True))
            out[head, rows] = e @ v / e.sum(axis=1, keepdims=True)
    else:
        return None
    return out

def part(grid, ctas):
    """Returns the part of a grid with at most this many CTAs, in whole rows if possible."""
    if not ctas or np.prod(grid) <= ctas:
        return list(grid)
    x = min(grid[0], ctas)
    return [x, max(1, min(grid[1], ctas // x)), 1]

def prepare(cubin, options):
    """Writes the files of a kernel; returns the launch file, the part of the grid, and whether NumPy can compute the kernel."""
    meta = cubin.with_suffix(".json")
    facts = json.loads(meta.read_text())
    stem = cubin.stem
    listing = options.out / f"{stem}.sass"
    made = subprocess.run([options.warpshard, "compile", cubin, "--meta", meta, "--out", listing, "--python", sys.executable], capture_output=True, text=True)
    if made.returncode:
        sys.exit(made.stderr)
    launch = listing.with_suffix(".toml")
    text = launch.read_text()
    random = np.random.default_rng(options.seed)
    tensors, numbers = {}, {}
    last = [name for name, value in facts["arguments"] if isinstance(value, dict)][-1]
    for name, value in facts["arguments"]:
        if not isinstance(value, dict):
            numbers[name] = value
            continue
        sizes = value.get("tensor") or value["descriptor"]
        kind = TYPES[value["type"].split(".")[-1]]
        if name == last:
            shape, out_kind = sizes, kind
            continue
        stored = narrow(random.standard_normal(int(np.prod(sizes)), dtype=np.float32), kind)
        stored.tofile(options.out / f"{stem}.{name}.bin")
        tensors[name] = wide(stored, kind).reshape(sizes)
        text = re.sub(rf"^({name} = .*contents = ).*$", rf'\1{{ file = "{stem}.{name}.bin" }} }}', text, flags=re.M)
    grid = part(facts["grid"], options.ctas)
    text = re.sub(r"^grid = .*$", f"grid = {grid}", text, flags=re.M)
    kernel = re.search(r'^kernel = "(.*)"', text, re.M).group(1)
    want = expected(kernel, tensors, numbers, facts["constants"], shape, grid)
    if want is not None:
        narrow(want.ravel(), out_kind).tofile(options.out / f"{stem}.expected.bin")
        # Tolerance: one rounding to the type, plus the roundings of the terms of sums; inputs of attention's second product are rounded to 8 bits.
        relative = {"bf16": 2 ** -7, "f16": 2 ** -10, "f32": 2 ** -20}[out_kind]
        absolute = float(np.abs(want).max()) * {"flash": 2 ** -8, "matmul": 2 ** -16, "matmul_tma": 2 ** -16, "gemv": 2 ** -16}.get(kernel, 2 ** -20)
        text += f'expected = {{ file = "{stem}.expected.bin" }}\ntolerance = {{ absolute = {absolute!r}, relative = {relative!r} }}\n'
    launch.write_text(text)
    return launch, grid, list(facts["grid"]), want is not None

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cubins", type=pathlib.Path, nargs="+", metavar="CUBIN")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for listings, launch files and inputs")
    parser.add_argument("--ctas", type=int, help="most CTAs to launch of each kernel")
    parser.add_argument("--seed", type=int, default=1, help="of the random inputs")
    parser.add_argument("--warpshard", default="warpshard", help="the program")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    differs = False
    for cubin in options.cubins:
        launch, grid, whole, known = prepare(cubin, options)
        started = time.time()
        done = subprocess.run([options.warpshard, "exec", launch, "--fast", "--mix", "0"], capture_output=True, text=True)
        count = re.search(r": ([\d,]+) warp instruction", done.stdout)
        of = "all CTAs" if grid == whole else f"{int(np.prod(grid))} of {int(np.prod(whole))} CTAs"
        if done.returncode:
            differs = True
            verdict = "; ".join(line.strip() for line in (done.stdout + done.stderr).splitlines() if "differs" in line or "error" in line) or done.stderr.strip()
        else:
            verdict = "equal" if known else "not compared"
        print(f"{cubin.stem:36} {of:20} {count.group(1) if count else '-':>14} warp instructions {time.time() - started:7.1f} s  {verdict}", flush=True)
        for file in options.out.glob(f"{cubin.stem}.*.bin"):
            file.unlink()
    sys.exit(differs)

if __name__ == "__main__":
    main()
