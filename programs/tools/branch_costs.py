#!/usr/bin/env python3
"""Estimates the cost of branches on a GPU in warp cycles, from Nsight Compute's warp states.

    python3 programs/tools/branch_costs.py target/release/warpshard [COUNTERS.csv] [KEY=VALUE..]

Runs every program of `validate/reference/h100/counters.csv` (or another file of these columns) at the size of its launch file on machine h100
(with other values of its keys), and compares the warp cycles of each kernel in the states `wait` and `branch_resolving` with the measured ones. A least-squares fit
explains the GPU's extra cycles per instruction by the kernel's mix of BSYNC, calls and returns, taken branches and EXIT; the result is in cycles,
with standard errors. Kernels whose executed instructions differ are skipped. Needs NumPy.
"""
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RATIO = "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio"
STATES = ["wait", "branch_resolving"]
# Microbenchmarks of few instructions, whose warps wait for pipes in a state that the machine names differently.
LEFT_OUT = {"micro/max_flops", "micro/l1_shared_bw", "micro/l1_bw"}
GROUPS = {"BSYNC": ["BSYNC"], "CALL, RET": ["CALL", "RET"], "BRA": ["BRA", "BRX"], "EXIT": ["EXIT"]}


def rows(path):
    with open(path) as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def mix(program, file):
    """Returns the instructions of each kernel by opcode, summed over all launches."""
    command = [program, "exec", file, "--arch", "sm_90", "--mix", "1000", "--fast"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    kernels, kernel = {}, None
    for line in text.splitlines():
        if found := re.match(r"^(\S+): \d+ launch", line):
            kernel = kernels[found[1]] = {}
        elif (found := re.match(r"^    (\S+)\s+([\d,]+)\s+[\d.]+ %", line)) and kernel is not None:
            kernel[found[1].split(".")[0]] = kernel.get(found[1].split(".")[0], 0) + int(found[2].replace(",", ""))
    return kernels


def launches(program, file, folder, changed):
    command = [program, "run", "--program", file, "--arch", "sm_90", "--machine", "h100"]
    command += ["--set", "gpu.sm.warp_states=true", "--set", 'mem.memcpy_warms_llc="off"', "--out", folder]
    command += [word for change in changed for word in ("--set", change)]
    subprocess.run(command, capture_output=True, check=True)
    return rows(Path(folder) / "kernels.csv")


def main():
    program, changed = sys.argv[1], [word for word in sys.argv[2:] if "=" in word]
    files = [word for word in sys.argv[2:] if "=" not in word]
    counters = files[0] if files else ROOT / "validate/reference/h100/counters.csv"
    measured = [row for row in rows(counters) if row["set"] == "file" and row["program"] not in LEFT_OUT]
    shares, missing, seen = [], [], set()
    for name in sorted({row["program"] for row in measured}):
        file = next((path for path in [ROOT / f"programs/{name}.toml", *ROOT.glob(f"programs/*/{name}.toml")] if path.exists()), None)
        if file is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours, mixes = launches(program, str(file), folder + "/run", changed), mix(program, str(file))
        for row in (row for row in measured if row["program"] == name):
            own, opcodes = ours[int(row["launch"])], mixes.get(row["kernel"])
            executed, issued = float(row["smsp__inst_executed.sum"]), float(row["smsp__inst_issued.sum"])
            if (name, row["kernel"]) in seen or not opcodes or abs(float(own["warp_instructions"]) / executed - 1) > 0.01:
                continue
            seen.add((name, row["kernel"]))
            total = sum(opcodes.values())
            shares.append([1.0] + [sum(opcodes.get(opcode, 0) for opcode in group) / total for group in GROUPS.values()])
            missing.append(sum(float(row[RATIO % state]) - float(own["warp_" + state]) / issued for state in STATES))
    shares, missing = np.array(shares), np.array(missing)
    costs, *_ = np.linalg.lstsq(shares, missing, rcond=None)
    spread = np.var(missing - shares @ costs)
    errors = np.sqrt(np.diag(np.linalg.inv(shares.T @ shares) * spread))
    print(f"{len(missing)} kernels; cycles that the GPU has more than the machine:")
    for group, cost, error in zip(["any instruction", *GROUPS], costs, errors):
        print(f"  {group:16} {cost:+6.2f}, standard error {error:.2f}")


if __name__ == "__main__":
    main()
