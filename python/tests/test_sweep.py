"""Sweeps in memory."""

from __future__ import annotations

import threading

import pytest

import warpshard as ws

WORK = ws.Model("vecadd", n=4096)


def test_a_grid_has_a_row_per_point_in_order():
    made = ws.sweep("tiny", [WORK, "gather"], {"gpu.sms": [1, 2], "gpu.sm.order": ["gto", "lrr"]}, max_cycles=20_000)
    assert made["gpu.sms"] == [1, 1, 2, 2] * 2 and made["gpu.sm.order"] == ["gto", "lrr"] * 4
    assert made["workload"][:4] == ["vecadd(n=4096)"] * 4 and made["run"] == list(range(8))
    assert all(cycles > 0 for cycles in made["cycles"]) and "error" not in made
    assert [result.cycles for result in made.results] == made["cycles"]


def test_a_row_equals_a_single_run():
    made = ws.sweep("tiny", WORK, {"gpu.sms": [1, 3]}, jobs=2, interval=100)
    for sms, result in zip((1, 3), made.results):
        alone = ws.simulate(ws.Machine("tiny", {"gpu.sms": sms}), WORK, interval=100, threads=2)
        assert {name: data for name, data in result.files.items() if name in ("stats.json", "intervals.csv")} == {
            name: data for name, data in alone.files.items() if name in ("stats.json", "intervals.csv")
        }


def test_keys_change_together_and_points_are_listed():
    together = ws.sweep("tiny", WORK, {("gpu.sms", "clocks.core"): [(1, "1 GHz"), (2, "900 MHz")], "workload.n": [1024, 2048]})
    assert together["gpu.sms"] == [1, 1, 2, 2] and together["clocks.core"] == ["1 GHz"] * 2 + ["900 MHz"] * 2
    assert together["workload"] == ["vecadd(n=1024)", "vecadd(n=2048)"] * 2
    listed = ws.sweep("tiny", WORK, [{}, {"gpu.sms": 2}, {"gpu.sm.order": "lrr"}])
    assert listed["gpu.sms"] == [None, 2, None] and listed["gpu.sm.order"] == [None, None, "lrr"]
    with pytest.raises(ValueError, match="expected 2 values"):
        ws.sweep("tiny", WORK, {("gpu.sms", "clocks.core"): [(1,)]})


def test_policies_are_texts_or_controller_factories():
    class One(ws.Controller):
        name, knobs, on = "one", ("cta_limit",), ("start",)

        def observe(self, seen):
            return [ws.CtaLimit(1, reason="a test")]

    made = ws.sweep("tiny", WORK, policies=[None, "static_limit:ctas=1", One, [One, 'probe:period=100,counters=["issued"]']])
    assert made["policy"] == ["", "static_limit:ctas=1", "one", 'one+probe:period=100,counters=["issued"]']
    assert made["cycles"][1] == made["cycles"][2] == made["cycles"][3] != made["cycles"][0]


def test_failures_are_raised_or_kept():
    with pytest.raises(ws.ConfigError):
        ws.sweep("tiny", WORK, {"gpu.sms": [1, 0]})
    with pytest.raises(ws.WorkloadError):
        ws.sweep("tiny", [WORK, ws.Model("nothing")])
    kept = ws.sweep("tiny", [WORK, ws.Model("nothing")], errors="keep")
    assert kept["cycles"][0] > 0 and kept["cycles"][1] is None and "nothing" in kept["error"][1]
    assert kept.results[1] is None and isinstance(kept.errors[1], ws.WorkloadError) and kept.errors[0] is None


def test_runs_of_one_process_are_concurrent():
    together = threading.Barrier(2)

    class Meet(ws.Controller):
        name, on = "meet", ("start",)

        def observe(self, seen):
            # Both runs wait here until the other one has arrived.
            together.wait(timeout=60)

    made = ws.sweep("tiny", WORK, {"gpu.sms": [1, 2]}, policies=[Meet], jobs=2)
    assert all(cycles > 0 for cycles in made["cycles"])
