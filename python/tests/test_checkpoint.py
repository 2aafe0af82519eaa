"""Checkpoints: a run that is interrupted and resumed has the same bytes as an uninterrupted run, here and on the command line."""

from __future__ import annotations

import pytest

import warpshard as ws

GIVEN = ("tiny", ws.Model("stream", cta_count=20, iterations=4))
WORDS = ["run", "--machine", "tiny", "--workload", "stream", "--set", "workload.cta_count=20", "--set", "workload.iterations=4", "--interval", "500"]
SIMULATED = ["stats.json", "intervals.csv"]


def bytes_of(result: ws.Result) -> list[bytes]:
    return [result.files[name] for name in SIMULATED]


def stopped(out) -> None:
    """Writes a checkpoint at cycle 1000."""
    cut = ws.simulate(*GIVEN, interval=500, checkpoint_every=1000, max_cycles=1001, out=out)
    assert cut.ended_by == "max_cycles" and out.with_name("app.checkpoint").exists()


def test_a_resumed_run_has_the_same_bytes_and_removes_its_checkpoint(tmp_path):
    whole = ws.simulate(*GIVEN, interval=500)
    assert whole.cycles > 1001
    out = tmp_path / "app"
    stopped(out)
    resumed = ws.simulate(*GIVEN, threads=2, interval=500, checkpoint_every=1000, out=out, resume=tmp_path / "app.checkpoint")
    assert bytes_of(resumed) == bytes_of(whole)
    assert list(tmp_path.iterdir()) == [], "the checkpoint of a complete run is removed, and nothing else was written"


def test_checkpoints_work_between_python_and_the_command_line(command, tmp_path):
    whole = ws.simulate(*GIVEN, interval=500)
    stopped(tmp_path / "app")
    done = command(*WORDS, "--out", tmp_path / "theirs", "--resume", tmp_path / "app.checkpoint")
    assert done.returncode == 0 and "resumes at cycle 1000" in done.stderr, done.stderr
    assert [(tmp_path / "theirs" / name).read_bytes() for name in SIMULATED] == bytes_of(whole)
    done = command(*WORDS, "--out", tmp_path / "cut", "--checkpoint-every", "1000", "--max-cycles", "1001")
    assert done.returncode == 0, done.stderr
    assert bytes_of(ws.simulate(*GIVEN, interval=500, resume=tmp_path / "cut.checkpoint")) == bytes_of(whole)


def test_invalid_saves_and_resumes_are_errors(tmp_path):
    class Watch(ws.Controller):
        name, every = "watch", 1000

        def observe(self, seen):
            return None

    stopped(tmp_path / "app")
    file = tmp_path / "app.checkpoint"
    with pytest.raises(ws.CheckpointError, match="another option seed") as raised:
        ws.simulate(*GIVEN, interval=500, seed=2, resume=file)
    assert raised.value.exit_code == 7
    with pytest.raises(ws.ConfigError, match="cannot be saved"):
        ws.simulate(*GIVEN, policy=Watch(), checkpoint_every=1000, out=tmp_path / "watched")
    with pytest.raises(ws.UsageError, match="--out"):
        ws.simulate(*GIVEN, checkpoint_every=1000)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ws.CheckpointError, match="damaged"):
        ws.simulate(*GIVEN, interval=500, resume=file)
