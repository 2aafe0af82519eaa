"""Plans: the runs, files and tables of `warpshard sweep`."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import warpshard as ws

WORKS = [ws.Model("vecadd", n=2048), ws.Model("vecadd", n=1024)]


def small(**more) -> ws.Plan:
    return ws.Plan("tiny", WORKS, policies=[None, "static_limit:ctas=1"], grid={"gpu.sms": [1, 2]}, interval=500, name="small", **more)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "sweep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_plan_has_the_runs_of_its_file(command, tmp_path):
    plan = ws.Plan(
        ["tiny", ws.Machine("v100")],
        ["stream", ws.Model("vecadd", n=64), ws.Applications(["stream", "vecadd,priority=1"], once=True), ws.Trace("a/b", lenient=True)],
        policies=["", ["static_limit:ctas=2", "probe"]],
        set={"mem.dram.scheduler": "fcfs"},
        grid={"gpu.sms": [1, 2], "gpu.sm.order": ["gto", "lrr"]},
        zips={"clocks.core": ["1 GHz", "2 GHz"], "clocks.noc": ["1 GHz", "2 GHz"]},
        seeds=[1, 2],
        max_cycles=500,
    )
    assert len(plan) == 2 * 4 * 2 * 2 * 2 * 2 * 2
    assert plan.runs[0] == (
        "--machine=tiny --workload=stream --set=mem.dram.scheduler=fcfs --set=clocks.core=1 GHz --set=clocks.noc=1 GHz --set=gpu.sms=1 "
        "--set=gpu.sm.order=gto --seed=1 --lenient --max-cycles=500"
    )
    assert ws.Plan.read(plan.save(tmp_path / "plan.toml")).runs == plan.runs == ws.Plan.from_toml(plan.to_toml()).runs
    points = ws.Plan("tiny", "stream", points=[{"gpu.sms": 1}, {"gpu.sms": 2, "gpu.sm.order": "lrr"}])
    assert [run.count("--set") for run in points.runs] == [1, 2]
    beside = ws.Plan("hetero", ws.Beside("sgemm", cpu="mcf,lbm"), cpu_warm=0, cpu_measure=5)
    assert beside.runs == ["--machine=hetero --workload=sgemm --cpu=mcf,lbm --seed=1 --cpu-warm=0 --cpu-measure=5"]
    program = ws.Plan("v100", ws.Program("p.toml", "sm_80", n=3))
    assert program.runs == ["--machine=v100 --program=p.toml --arch=sm_80 --set=workload.n=3 --seed=1"]
    listed = command("sweep", small().save(tmp_path / "small.toml"), "--list", "--out", tmp_path / "list")
    assert [line[line.index("--machine") :] for line in listed.stdout.splitlines()] == small().runs, listed.stderr


def test_the_store_is_shared_with_the_command_line_and_no_run_is_repeated(command, tmp_path):
    plan, ours, theirs = small(), tmp_path / "ours", tmp_path / "theirs"
    frame = plan.run(ours)
    assert (len(frame), frame.simulated, frame.earlier, frame.missing) == (8, 8, 0, 0)
    swept = command("sweep", plan.save(tmp_path / "small.toml"), "--out", theirs)
    assert swept.returncode == 0, swept.stderr
    assert (ours / "sweep.csv").read_bytes() == (theirs / "sweep.csv").read_bytes()
    for folder, digest in zip(frame.folders, frame["digest"]):
        assert folder == ours / "runs" / digest
        for name in ("stats.json", "run.toml", "kernels.csv", "intervals.csv"):
            assert (folder / name).read_bytes() == (theirs / "runs" / digest / name).read_bytes(), name
    assert command("sweep", tmp_path / "small.toml", "--out", ours).stdout.startswith("0 runs simulated, 8 from before")
    again = plan.run(theirs)
    assert (again.simulated, again.earlier) == (0, 8) and again["digest"] == frame["digest"]
    alone = ws.simulate(ws.Machine("tiny", {"gpu.sms": 2}), WORKS[0], interval=500, policy="static_limit:ctas=1")
    # `stats.json` lists changes in this order: `set` precedes the parameters of workloads, as changes of a machine do.
    fixed = ws.Plan("tiny", WORKS[0], policies=["static_limit:ctas=1"], set={"gpu.sms": 2}, interval=500).run(tmp_path / "fixed")
    assert alone.files["stats.json"] == (fixed.folders[0] / "stats.json").read_bytes()
    assert alone.files["kernels.csv"] == (frame.folders[3] / "kernels.csv").read_bytes()


def test_the_table_has_types_and_is_sweep_csv(tmp_path):
    polars = pytest.importorskip("polars", reason="SKIPPED: polars cannot be had")
    frame = small().run(tmp_path)
    made = frame.to_polars()
    assert made.schema["cycles"] == polars.UInt64 and made.schema["ipc"] == polars.Float64 and made.schema["status"] == polars.String
    assert made["gpu.sms"].to_list() == [1, 2] * 4 and made["workload.n"].to_list() == [2048] * 4 + [1024] * 4
    assert [str(cycles) for cycles in frame["cycles"]] == [row["cycles"] for row in rows(tmp_path)]


def test_slices_are_collected(tmp_path):
    plan = small()
    part = plan.run(tmp_path, slice=(1, 3), jobs=1)
    assert (part.simulated, part.missing) == (3, 5) and not (tmp_path / "sweep.csv").exists()
    early = plan.collect(tmp_path)
    assert early.missing == 5 and early["status"].count("missing") == 5 and early.folders.count(None) == 5
    for index in (2, 3):
        plan.run(tmp_path, slice=f"{index}/3")
    assert plan.collect(tmp_path).missing == 0 and all(row["status"] == "done" for row in rows(tmp_path))
    with pytest.raises(ws.UsageError, match="slice: expected I/N"):
        plan.run(tmp_path, slice=(4, 3))
    with pytest.raises(ws.UsageError, match="memory: expected a size"):
        plan.run(tmp_path, memory="much")


def test_wrong_plans_are_errors_before_anything_is_simulated(tmp_path):
    for plan, kind, words in [
        (lambda: ws.Plan("tiny", WORKS, grid={"gpu.sms": [1, 0]}), ws.ConfigError, "2 of 4 runs of the plan are wrong; nothing was simulated"),
        (lambda: ws.Plan("tiny", "vecad"), ws.WorkloadError, "did you mean `vecadd`"),
        (lambda: ws.Plan("tiny", WORKS, policies=["dyncat"]), ws.UsageError, "dyncat"),
        (lambda: ws.Plan("tiny", []), ws.ConfigError, "workloads"),
        (lambda: ws.Plan("tiny", WORKS, grid={"gpu.sms": []}), ws.ConfigError, "expected a list of values"),
        (lambda: ws.Plan("tiny", WORKS, zips={"gpu.sms": [1], "gpu.sm.order": ["gto", "lrr"]}), ws.ConfigError, "zip"),
        (lambda: ws.Plan(ws.Machine("tiny", {"gpu.sms": 2}), WORKS), TypeError, "a machine with changes"),
        (lambda: ws.Plan("tiny", ws.Applications(["stream"], alone=True)), TypeError, "run alone"),
        (lambda: ws.Plan.read("nowhere.toml"), ws.ConfigError, "nowhere.toml: the plan cannot be read"),
    ]:
        with pytest.raises(kind, match=words):
            plan().run(tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    assert not runs.exists() or not list(runs.iterdir())


def test_a_run_that_fails_does_not_end_the_others(tmp_path):
    # The checks of a plan cannot predict the deadlock of a machine whose warps may hold no CTA, or an error in a later file of a trace.
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "kernelslist.g").write_text("kernel-1.traceg\n")
    (broken / "kernel-1.traceg").write_text("-kernel name = k\n")
    plan = ws.Plan("tiny", [WORKS[0], ws.Trace(broken)])
    with pytest.raises(ws.WorkloadError, match="broken"):
        plan.run(tmp_path / "out")


def test_an_interrupted_sweep_continues(tmp_path):
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys, warpshard as ws\n"
        "plan = ws.Plan('tiny', ws.Model('gemm_tiled', m=256, n=256, k=256), grid={'gpu.sms': [1, 2, 3, 4]}, seeds=[1, 2, 3], max_cycles=30000)\n"
        "print('begun', flush=True)\n"
        "print(plan.run(sys.argv[1], jobs=1).simulated)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "begun\n"
        end = time.monotonic() + 120
        while not list((tmp_path / "runs").glob("*/stats.json") if (tmp_path / "runs").exists() else []) and time.monotonic() < end:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    stored = len(list((tmp_path / "runs").iterdir()))
    assert "KeyboardInterrupt" in said and 1 <= stored <= 12
    rest = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert rest.stdout == f"begun\n{12 - stored}\n"


def test_a_background_sweep_reports_progress(tmp_path):
    sweeping = small().start(tmp_path)
    assert sweeping.wait(120) and sweeping.done
    assert sweeping.progress == ws.PlanProgress(ended=8, failed=0, active=0, runs=8)
    assert len(sweeping.result()) == 8
    cancelled = ws.Plan("tiny", "gemm_tiled", seeds=range(50)).start(tmp_path / "cancelled")
    cancelled.cancel()
    assert cancelled.result().missing > 0
