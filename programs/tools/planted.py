#!/usr/bin/env python3
"""Checks verdicts on kernels with two planted faults (tests/data/planted): the named limiter, and the cycles without each fault.

    python3 programs/tools/planted.py target/release/warpshard --machine v100

Compiles the kernels for the machine with NVRTC (docs/programs.md lists the requirements), runs each pair of faults with both and without each, and
prints a table. A row is right if the limiter belongs to the fault whose removal saves more cycles; "-" if neither removal saves a twentieth. Needs no
package.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ARCHITECTURES = {"7.0": "sm_70", "7.5": "sm_75", "8.0": "sm_80", "8.6": "sm_86", "9.0": "sm_90"}

COALESCED = ("lanes far apart", "l1 llc network memory_latency", {"stride": 1})
NO_CONFLICTS = ("bank conflicts", "shared_memory", {"bank": 1})
STRAIGHT = ("x and y swapped", "l1", {"swap": 0})
ONE_PATH = ("several paths", "divergence", {"ways": 1})
FOUR_CHAINS = ("serial chain", "dependency", {"chains": 4})
NO_LINKS = ("serial chain", "dependency", {"links": 0})
FEW_REGISTERS = ("registers leave few warps", "occupancy", {"file": "few_registers"})
NO_BARRIERS = ("barriers", "barrier", {"barriers": 0})
FITS_A_CACHE = ("array beyond the LLC", "dram", {"kept": 1024})
FITS_THE_L1 = ("array beyond the L1", "llc network", {"kept": 1024, "past": 0})
SPREAD = ("atomics on one address", "atomics", {"spread": 1 << 20})
EVEN = ("a CTA that works longer", "tail", {"longer": 1})

STREAM = dict(size=1 << 20, kept=1 << 20, past=0, links=8, chains=1)
CHAIN = dict(size=1 << 18, kept=1 << 18, past=0, links=512, chains=1, block=128, ctas="sms")
LOADS = dict(rounds=16, reads=1, bank=2, shared=4096)

# Launch file, parameters with both faults, and for each fault its name, its limiters and the parameters that remove it. Parameters may be formulas of
# `sms`.
PAIRS = [
    ("apart_and_banks", dict(rounds=4, ctas="6 * sms"), COALESCED, NO_CONFLICTS),
    ("apart_and_banks", dict(size=1 << 16, rounds=16, reads=8, stride=8, bank=16, ctas="2 * sms"), NO_CONFLICTS, COALESCED),
    ("jacobi", {}, STRAIGHT, ("shared memory leaves few warps", "occupancy", {"shared": 0})),
    ("paths_and_chain", dict(rounds=4, ways=16, each=16, links=64, ctas="2 * sms", block=256), ONE_PATH, FOUR_CHAINS),
    ("paths_and_chain", dict(rounds=4, ctas="sms"), FOUR_CHAINS, ONE_PATH),
    ("many_registers", dict(rounds=16, ctas="8 * sms"), FEW_REGISTERS, NO_BARRIERS),
    ("many_registers", dict(rounds=2, barriers=48, ctas="2 * sms"), FEW_REGISTERS, NO_BARRIERS),
    ("many_registers", dict(rounds=16, barriers=0, links=32, ctas="8 * sms"), FEW_REGISTERS, NO_LINKS),
    ("loads", dict(LOADS, shared=60000, ctas="8 * sms"), ("shared memory leaves few warps", "occupancy", {"shared": 4096}), NO_CONFLICTS),
    ("loads", dict(LOADS, block=704, ctas="8 * sms"), ("704 threads a CTA", "occupancy", {"block": 1024, "ctas": "11 * sms // 2"}), NO_CONFLICTS),
    ("loads", dict(LOADS, block=32, ctas="64 * sms"), ("32 threads a CTA", "occupancy", {"block": 256, "ctas": "8 * sms"}), NO_CONFLICTS),
    ("loads", dict(LOADS, rounds=4, reads=16, bank=32, block=32, ctas="32 * sms"), NO_CONFLICTS,
     ("32 threads a CTA", "occupancy", {"block": 256, "ctas": "4 * sms"})),
    ("loads", dict(rounds=16, shared=0, barriers=1, block=1024, ctas="2 * sms + 1"), ("a CTA too many", "tail", {"ctas": "2 * sms"}), NO_BARRIERS),
    ("stream_and_chain", dict(STREAM, ctas="4 * sms"), FITS_A_CACHE, FOUR_CHAINS),
    ("stream_and_chain", CHAIN, FOUR_CHAINS, FITS_A_CACHE),
    ("stream_and_chain", dict(STREAM, kept=1 << 17, past=1, ctas="8 * sms"), FITS_THE_L1, FOUR_CHAINS),
    ("stream_and_chain", dict(CHAIN, kept=1 << 17, past=1), FOUR_CHAINS, FITS_THE_L1),
    ("atomics_and_paths", dict(rounds=8, ctas="sms"), SPREAD, ONE_PATH),
    ("atomics_and_paths", dict(rounds=2, spread=64, ways=32, each=32, ctas="sms", block=128), ONE_PATH, SPREAD),
    ("code_and_apart", dict(rounds=4, ctas="sms"), ("code beyond the caches", "fetch", {"far": 0}), COALESCED),
    ("code_and_apart", dict(size=1 << 18, rounds=1, loads=32, stride=32, ctas="sms", block=512), COALESCED,
     ("code beyond the caches", "fetch", {"far": 0})),
    ("special_and_paths", dict(rounds=8, ctas="2 * sms"), ("special functions", "pipe", {"special": 0}), ONE_PATH),
    ("special_and_paths", dict(rounds=4, special=1, ways=32, each=8, ctas="2 * sms"), ONE_PATH, ("special functions", "pipe", {"special": 0})),
    ("late_and_chain", dict(rounds=8, ctas="2 * sms"), ("a warp late at a barrier", "barrier", {"late": 0}), FOUR_CHAINS),
    ("uneven_and_apart", dict(rounds=16, ctas="4 * sms"), EVEN, COALESCED),
    ("uneven_and_apart", dict(rounds=16, longer=2, stride=32, ctas="8 * sms"), COALESCED, EVEN),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpshard")
    parser.add_argument("--machine", default="h100")
    parser.add_argument("--python", default="python3", help="the interpreter with NVRTC and nvdisasm")
    arguments = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parents[2] / "tests/data/planted"
    shown = subprocess.run([arguments.warpshard, "show", "machine", arguments.machine], capture_output=True, text=True, check=True).stdout
    key = lambda pattern: re.search(pattern, shown, re.M)[1]
    sms, capability = int(key(r"^sms = (\d+)")), key(r'^compute_capability = "([\d.]+)"')
    architecture = ARCHITECTURES[capability]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        listing = folder / "planted.sass"
        command = [arguments.warpshard, "compile", str(source / "planted.cu"), "--arch", architecture, "--out", str(listing), "--python", arguments.python]
        subprocess.run(command, check=True, capture_output=True)
        for file in source.glob("*.toml"):
            text = re.sub(r"^modules = .*$", f'modules = {{ {architecture} = "planted.sass" }}', file.read_text(), flags=re.M)
            (folder / file.name).write_text(text)

        def run(file, settings):
            """Returns the cycles and the verdict of a launch file with these parameters."""
            settings = dict(settings)
            file = settings.pop("file", file)
            cold = file == "stream_and_chain" and settings["past"] == 0
            command = [arguments.warpshard, "run", "--machine", arguments.machine, "--program", str(folder / f"{file}.toml"), "--out", str(folder / "run")]
            command += ["--force", "--set", f"mem.memcpy_warms_llc={'off' if cold else 'full'}"]
            for name, value in settings.items():
                value = eval(value, {"sms": sms}) if isinstance(value, str) else value
                command += ["--set", f"workload.{name}={value}"]
            subprocess.run(command, check=True, capture_output=True)
            kernel = json.loads((folder / "run/stats.json").read_text())["kernels"][0]
            return kernel["cycles_active"], kernel["verdict"]

        print("| faults | cycles | without the first | without the second | named | right |\n| --- | ---: | ---: | ---: | --- | --- |")
        for file, both, first, second in PAIRS:
            cycles, verdict = run(file, both)
            without = [run(file, {**both, **fault[2]})[0] for fault in (first, second)]
            larger = first if without[0] <= without[1] else second
            right = "yes" if verdict["limiter"] in larger[1].split() else "no"
            right = right if min(without) < 0.95 * cycles else "-"
            share = verdict["charges"][0]["share"] * 100
            named = verdict["limiter"].replace("_", " ")
            print(f"| {first[0]}, {second[0]} | {cycles:,} | {without[0]:,} | {without[1]:,} | {named} {share:.0f} % | {right} |", flush=True)


if __name__ == "__main__":
    main()
