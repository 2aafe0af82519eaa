#!/usr/bin/env python3
"""Compares functional execution with the results of an H100: the outputs of the suite, and the approximate functions of MUFU.

    python3 programs/tools/h100_check.py suite ../shared/reference/h100 [PROGRAM ...]     CRC-32 of every output, two sizes of each program
    python3 programs/tools/h100_check.py mufu ../shared/reference/h100 --out work         every input of the measured ranges

`suite` needs suite.json and suite-results.csv there, `mufu` mufu.json and mufu.npz, NumPy, and NVRTC and nvdisasm as `warpshard compile` does. Prints one
row per run or range, and ends with 1 if a result differs."""
import argparse, csv, json, lzma, pathlib, re, subprocess, sys, time

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent
FUNCTIONS = {"ex2": "ex2.approx.ftz", "lg2": "lg2.approx.ftz", "rcp": "rcp.approx.ftz", "rsq": "rsqrt.approx.ftz", "sqrt": "sqrt.approx.ftz",
             "sin": "sin.approx.ftz", "cos": "cos.approx.ftz", "tanh": "tanh.approx", "rcp64h": "rcp.approx.ftz", "rsq64h": "rsqrt.approx.ftz"}

def execute(options, *arguments):
    return subprocess.run([options.warpshard, "exec", *arguments, "--fast", "--mix", "0"], capture_output=True, text=True)

def suite(options):
    measured = {}
    with open(options.reference / "suite-results.csv", newline="") as file:
        for row in csv.DictReader(file):
            measured.setdefault((row["program"], row["set"]), {})[row["output"]] = row["crc32_h100"]
    programs = json.loads((options.reference / "suite.json").read_text())["programs"]
    equal = 0
    runs = [(program, size) for size in ("file", "large") for program in programs if (program["name"], size) in measured]
    runs = [run for run in runs if not options.programs or run[0]["name"] in options.programs]
    for program, size in runs:
        started = time.time()
        settings = [part for key, value in program["sets"][size].items() for part in ("--set", f"{key}={value}")]
        done = execute(options, PROGRAMS / f"{program['name']}.toml", "--arch", "sm_90", *settings)
        found = dict(re.findall(r"^(\S+): crc32 ([0-9a-f]{8})", done.stdout, re.M))
        wanted = measured[program["name"], size]
        differ = [f"{name} is {found.get(name)}, on the H100 {crc}" for name, crc in wanted.items() if found.get(name) != crc]
        equal += not differ
        print(f"{program['name']:30} {size:5} {time.time() - started:6.1f} s  {'; '.join(differ) or 'equal'}", flush=True)
    print(f"{equal} of {len(runs)} runs are equal")
    return equal == len(runs)

def source():
    lines = ["typedef unsigned u32; typedef unsigned long long u64;"]
    head = 'extern "C" __global__ void f_{}(u32 *o, u32 first, u32 step, u32 n) {{ u32 i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; '
    for name, instruction in FUNCTIONS.items():
        if name.endswith("64h"):
            body = ('double x = __longlong_as_double((u64)(first + i * step) << 32), y; '
                    f'asm volatile("{instruction}.f64 %0, %1;" : "=d"(y) : "d"(x)); o[i] = (u32)(__double_as_longlong(y) >> 32); }}')
        else:
            body = ('float x = __uint_as_float(first + i * step), y; '
                    f'asm volatile("{instruction}.f32 %0, %1;" : "=f"(y) : "f"(x)); o[i] = __float_as_uint(y); }}')
        lines.append(head.format(name) + body)
    return "\n".join(lines) + "\n"

def mufu(options):
    import numpy as np
    exact = {"rcp": lambda x: 1 / x, "rsq": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "mufu.cu").write_text(source())
    listing = ["compile", options.out / "mufu.cu", "--arch", "sm_90", "--out", options.out / "mufu.sass", "--python", sys.executable]
    subprocess.run([options.warpshard, *listing], check=True, stdout=subprocess.DEVNULL)
    ranges, stored = json.loads((options.reference / "mufu.json").read_text()), np.load(options.reference / "mufu.npz")
    inputs = wrong = 0
    for name in stored.files:
        data = np.frombuffer(lzma.decompress(stored[name].tobytes()), dtype=ranges["packed_bytes"][name][1])
        known = np.ones(len(data), bool)
        if name.endswith("64h"):
            first, step, function, want = 0x3ff00000, 1, name, data
        else:
            first, step, function = int(ranges[name]["first"], 16), ranges[name]["step"], ranges[name]["function"]
            x = (np.uint32(first) + np.arange(len(data), dtype=np.uint32) * np.uint32(step)).view(np.float32)
            with np.errstate(all="ignore"):
                nearest = exact[function](x.astype(np.float64)).astype(np.float32)
            # Differences in units in the last place from the nearest number; 16-bit differences saturate and are then unknown.
            want = (nearest.view(np.int32).astype(np.int64) + data).astype(np.int32).view(np.uint32)
            if data.dtype == np.int16:
                known = (data > -32768) & (data < 32767)
        # An unknown result is replaced by a value that no function returns, so it counts as a difference.
        np.where(known, want, 0xdeadbeef).astype(np.uint32).tofile(options.out / "expected.bin")
        (options.out / "mufu.toml").write_text(
            f'modules = {{ sm_90 = "mufu.sass" }}\n[buffers]\no = {{ type = "u32", count = {len(data)} }}\n[[launches]]\nkernel = "f_{function}"\n'
            f'grid = [{-(-len(data) // 256)}]\nblock = [256]\narguments = ["&o", {first}, {step}, {len(data)}]\n[[outputs]]\nbuffer = "o"\n'
            'expected = { file = "expected.bin" }\n')
        done = execute(options, options.out / "mufu.toml")
        found = re.search(r"expected: ([\d,]+) element", done.stdout)
        if done.returncode and not found:
            sys.exit(done.stderr)
        unknown = int((~known).sum())
        differ = (int(found.group(1).replace(",", "")) if found else 0) - unknown
        inputs, wrong = inputs + len(data) - unknown, wrong + differ
        print(f"{name:10} from {first:#x} in steps of {step:3}: {len(data) - unknown:9,} inputs, {differ} differ", flush=True)
    print(f"{wrong} of {inputs:,} inputs differ")
    return wrong == 0

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["suite", "mufu"])
    parser.add_argument("reference", type=pathlib.Path, help="the folder of the measurements")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="of the suite; all by default")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mufu-work"), help="folder for the files of `mufu`")
    parser.add_argument("--warpshard", default="warpshard", help="the program")
    options = parser.parse_args()
    sys.exit(not {"suite": suite, "mufu": mufu}[options.what](options))

if __name__ == "__main__":
    main()
