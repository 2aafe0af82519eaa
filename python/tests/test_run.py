"""Runs: the same bytes as the command line, progress, cancelling, errors."""

from __future__ import annotations

import inspect
import json
import shlex
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpshard as ws
from warpshard.run import request

# These files describe the host and differ from run to run.
OF_THE_HOST = {"host.json", "summary.txt", ".warpshard-files"}

CASES = {
    "model": ((ws.Machine("tiny", {"gpu.sms": 3}), ws.Model("vecadd", n=20000)), {"interval": 500}, []),
    "v100": ((ws.Machine("v100", {"gpu.sms": 8}), ws.Model("gemm_tiled", m=128, n=128, k=64)), {"seed": 3, "interval": 300}, ["energy.csv", "power.svg"]),
    "policy": (("tiny", ws.Model("stream", cta_count=20, iterations=4)), {"policy": "static_limit:ctas=1", "max_cycles": 3000}, ["timeline.csv"]),
    "cpu": (("hetero-small", "gather"), {"cpu": ["mcf", "gcc"], "until": "gpu", "cpu_warm": 500, "max_cycles": 4000}, []),
    "applications": (("fermi24", ws.Applications(["stream", "vecadd,priority=1"], once=True)), {"max_cycles": 3000}, []),
    "sample": (("tiny", ws.Model("vecadd", n=20000)), {"sample": "error=20%"}, []),
    "relaxed": (("tiny", ws.Model("stream", cta_count=20, iterations=4)), {"epoch": 80, "relaxed": True}, []),
}


def saved(result: ws.Result, folder) -> dict[str, bytes]:
    result.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in OF_THE_HOST}


@pytest.mark.parametrize("case", [*CASES, "program"])
def test_the_files_equal_those_of_the_command_line(command, repository, tmp_path, case):
    if case == "program":
        given, options, present = ("tiny", ws.Program(repository / "programs/saxpy.toml", arch="sm_80", n=3000)), {}, []
    else:
        given, options, present = CASES[case]
    result = ws.simulate(*given, threads=2, **options)
    assert result.host["arguments"] == [], "no command line was given"
    words = shlex.split(result.stats["configuration"]["command"])[1:]
    done = command(*words, "--threads", "2", "--out", tmp_path / "command")
    assert done.returncode == 0, done.stderr
    theirs = {path.name: path.read_bytes() for path in (tmp_path / "command").iterdir() if path.name not in OF_THE_HOST}
    ours = saved(result, tmp_path / "ours")
    assert ours.keys() == theirs.keys() and {"stats.json", "run.toml", "intervals.csv", *present} <= ours.keys()
    for name, contents in ours.items():
        assert contents == theirs[name], name
    assert {name: contents for name, contents in result.files.items() if name not in OF_THE_HOST}.items() <= ours.items()


def test_results_do_not_depend_on_the_number_of_threads(tmp_path):
    runs = [ws.simulate("tiny", ws.Model("stream", cta_count=20, iterations=4), threads=threads, interval=100) for threads in (1, 2)]
    assert runs[0].files["stats.json"] == runs[1].files["stats.json"]
    assert runs[0].files["intervals.csv"] == runs[1].files["intervals.csv"]


def test_the_summary_agrees_with_the_statistics():
    result = ws.simulate("v100", ws.Model("vecadd", n=65536))
    total, summary = result.stats["total"], result.summary
    assert (summary.cycles, summary.net_cycles, summary.ipc) == (total["cycles"], total["net_cycles"], total["ipc"])
    assert summary.ended_by == result.ended_by == "completed" and summary.machine == "v100"
    counted = result.stats["counted_until"] / (1e3 * result.stats["core_khz"])
    assert summary.dram_bytes_per_second == pytest.approx(summary.dram_bytes / counted)
    assert summary.joules == pytest.approx(result.stats["energy"]["joules"])
    assert sum(result.stalls.values()) == pytest.approx(1.0) and 0 < result.stalls["issued"] < 1
    assert result.report.startswith(result.files["summary.txt"].decode()[:20]) and "cycles" in result._repr_html_()
    assert "instruction" in result.help("sm", "issued").lower() and result.help("kernel", "warp_instructions").endswith("In instructions.")
    with pytest.raises(KeyError):
        result.help("sm", "nothing")


def test_a_run_in_the_background_shows_progress_and_can_be_cancelled():
    run = ws.start("tiny", ws.Model("gemm_tiled", m=4096, n=4096, k=4096), threads=1)
    assert not run.wait(0.05) and not run.done
    end = time.monotonic() + 60
    while run.progress.cycles == 0 and time.monotonic() < end:
        run.wait(0.02)
    seen = run.progress
    assert seen.cycles > 0 and seen.ctas > 0 and 0.0 <= seen.fraction < 1.0 and "Simulation" in repr(run)
    run.cancel()
    result = run.result()
    assert run.done and result.ended_by == "interrupted" and result.cycles >= seen.cycles


def test_other_threads_run_meanwhile():
    counted, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        ws.simulate("tiny", ws.Model("gemm_tiled", m=512, n=512, k=512), max_cycles=100_000, threads=1)
    finally:
        ended.set()
        thread.join()
    assert counted[0] > 5


def test_ctrl_c_ends_a_run_immediately():
    # A shell without job control makes background processes and their children ignore Ctrl-C unless they set a handler.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import warpshard as ws; print('begun', flush=True); ws.simulate('tiny', ws.Model('gemm_tiled', n=8192, k=4096), threads=1)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "begun\n"
        time.sleep(0.5)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and running.returncode != 0


def test_a_bar_is_shown_by_tqdm(capfd):
    pytest.importorskip("tqdm", reason="SKIPPED: tqdm cannot be had")
    ws.start("tiny", ws.Model("gemm_tiled", m=512, n=512, k=512), max_cycles=400_000, threads=1).result(progress=True)
    shown = capfd.readouterr().err
    assert shown == "" or "CTA" in shown


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ws.simulate("tiny", "vecad"), ws.WorkloadError, ["--workload", "vecad"]),
        (lambda: ws.simulate("tiny", ws.Model("vecadd", m=1)), ws.WorkloadError, ["--workload", "vecadd", "--set", "workload.m=1"]),
        (lambda: ws.simulate("tiny", ws.Trace("nowhere/kernelslist.g")), ws.WorkloadError, ["--trace", "nowhere/kernelslist.g"]),
        (lambda: ws.simulate("tiny", ws.Program("nowhere.toml")), ws.WorkloadError, ["--program", "nowhere.toml"]),
        (lambda: ws.simulate("tiny", "vecadd", policy="dyncat"), ws.UsageError, ["--workload", "vecadd", "--policy", "dyncat"]),
        (lambda: ws.simulate("tiny", "vecadd", kernels="7"), ws.UsageError, ["--workload", "vecadd", "--kernels", "7"]),
        (lambda: ws.simulate("tiny", "vecadd", cpu="mcf"), ws.ConfigError, ["--workload", "vecadd", "--cpu", "mcf"]),
    ],
)
def test_failures_have_the_text_and_the_code_of_the_command_line(command, tmp_path, call, kind, words):
    with pytest.raises(kind) as raised:
        call()
    done = command("run", "--machine", "tiny", *words, "--out", tmp_path / "out")
    assert done.returncode == raised.value.exit_code
    assert str(raised.value).removeprefix("error: ") == done.stderr.strip().removeprefix("error: ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interval": 0}, "interval: invalid value: integer `0`, expected a nonzero u64"),
        ({"threads": -1}, "threads: invalid value: integer `-1`, expected a nonzero u32"),
        ({"max_cycles": 1e6}, "max_cycles: invalid type: floating point `1000000.0`"),
        ({"cpu": "mcf", "cpu_measure": 0}, "cpu measure: invalid value: integer `0`"),
        ({"cpu": "mcf", "until": "end"}, "cpu until: unknown variant `end`, expected one of `both`, `gpu`, `cpu`"),
        ({"until": "gpu"}, "name their applications with cpu"),
        ({"relaxed": True}, "--relaxed needs --epoch"),
        ({"sample": "", "interval": 500}, "--sample cannot be used with --interval"),
        ({"sample": "errors=1"}, "--sample errors=1"),
        ({"workload": ws.Program("nowhere.toml", arch="80")}, "arch is '80'; an architecture is written as sm_70"),
    ],
)
def test_an_invalid_request_names_the_invalid_part(options, words):
    with pytest.raises(ws.UsageError) as raised:
        ws.simulate(**{"machine": "tiny", "workload": "vecadd", **options})
    assert words in str(raised.value) and raised.value.exit_code == 2


def test_every_argument_is_a_part_of_the_request(tmp_path):
    machine = ws.Machine("tiny", {"gpu.sms": 3})
    plain = json.loads(request(machine, ws.Model("vecadd", n=64)))
    assert (plain["machine"], plain["workload"], plain["set"]) == ("tiny", {"model": "vecadd"}, [["gpu.sms", "3"], ["workload.n", "64"]])
    whole = {"cpu_warm": 0, "cpu_measure": 5, "gpu_first": True, "until": "cpu", "epoch": np.int64(80), "relaxed": True, "pin": True}
    whole |= {"threads": 2, "interval": np.uint8(7), "max_cycles": 9, "kernels": "1-2", "seed": 3, "sample": "", "checkpoint_every": 11}
    made = json.loads(request(machine, ws.Trace("a"), policies=["probe"], cpu=["mcf", "gcc,lbm"], out=tmp_path / "o", resume="r", lenient=True, **whole))
    assert made == {
        **{"machine": "tiny", "workload": {"trace": "a"}, "set": [["gpu.sms", "3"]], "policies": ["probe"], "kernels": "1-2", "seed": 3},
        "cpu": {"applications": ["mcf", "gcc", "lbm"], "warm": 0, "measure": 5, "gpu_first": True, "until": "cpu"},
        **{"lenient": True, "skip_matrix_values": False, "max_cycles": 9, "interval": 7, "sample": "", "threads": 2, "epoch": 80, "relaxed": True, "pin": True},
        **{"checkpoint_every": 11, "checkpoint_file": f"{tmp_path}/o.checkpoint", "resume": "r"},
    }
    assert json.loads(request(machine, ws.Trace("a", lenient=True)))["lenient"] is True
    assert json.loads(request(machine, ws.Program("p.toml", "sm_80")))["workload"] == {"program": {"file": "p.toml", "arch": 80}}
    assert json.loads(request(machine, ws.Program("p.toml", skip_matrix_values=True)))["skip_matrix_values"] is True
    apps = json.loads(request(machine, ws.Applications(["a", "b"], once=True)))["workload"]
    assert apps == {"applications": {"apps": ["a", "b"], "once": True, "alone": False}}


def test_all_functions_that_start_runs_have_the_same_arguments():
    of = {call: set(inspect.signature(call).parameters) for call in (ws.start, ws.simulate, ws.Device.start, ws.Device.simulate, request)}
    assert of[ws.simulate] - {"progress"} == of[ws.start] == of[request] - {"policies"} | {"policy"}
    assert of[ws.Device.simulate] - {"progress"} == of[ws.Device.start]
    # Launches of a device are in memory: they have no file, are all timed, and have no checkpoints.
    assert of[ws.start] - of[ws.Device.start] == {"workload", "kernels", "lenient", "out", "checkpoint_every", "resume"}


def test_a_folder_with_other_files_is_rejected(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    result = ws.simulate("tiny", ws.Model("vecadd", n=1024))
    with pytest.raises(ws.OutputError, match="thesis.tex"):
        result.save(tmp_path)
    result.save(tmp_path, force=True)
    assert (tmp_path / "stats.json").read_bytes() == result.files["stats.json"]


def test_a_folder_of_another_experiment_is_rejected(tmp_path):
    runs = [ws.simulate("tiny", ws.Model("vecadd", n=n)) for n in (1024, 2048)]
    runs[0].save(tmp_path)
    runs[0].save(tmp_path)
    with pytest.raises(ws.OutputError, match="another experiment: run.workload.parameters.n is 1024 in the folder and 2048 in this run"):
        runs[1].save(tmp_path)
    runs[1].save(tmp_path, force=True)
    assert (tmp_path / "stats.json").read_bytes() == runs[1].files["stats.json"]


def test_probably_unintended_settings_are_warnings():
    with pytest.warns(UserWarning, match="lowered to"):
        ws.simulate("tiny", ws.Model("vecadd", n=1024), threads=1000)
