"""Controllers and statistics written in Python."""

from __future__ import annotations

import pytest

import warpshard as ws

WORK = ws.Model("stream", cta_count=60, iterations=4)


class Shed(ws.Controller):
    """A limit of CTAs per SM that falls while the SM mostly waits for memory."""

    name = "shed"
    knobs = ("cta_limit",)
    every = 500

    def __init__(self):
        self.limits = []

    def observe(self, seen):
        most = max(kernel["ctas_per_sm"] for kernel in seen.facts["kernels"])
        self.limits = self.limits or [most] * len(seen.sms)
        issued, waited = seen.sms["issued"], seen.sms["stall_scoreboard_memory"]
        made = []
        for sm, limit in enumerate(self.limits):
            wanted = max(1, limit - 1) if waited[sm] > issued[sm] else min(most, limit + 1)
            if wanted != limit:
                made.append(ws.CtaLimit(wanted, sm, f"{issued[sm]} cycles with an issue, {waited[sm]} waiting for memory"))
                self.limits[sm] = wanted
        return made


def test_decisions_of_a_controller_are_in_the_timeline():
    result = ws.simulate("tiny", WORK, policy=Shed())
    rows = list(result.timeline.rows())
    assert rows and all(row["controller"] == "shed" and row["name"] == "cta_limit" and row["cycle"] % 500 == 0 for row in rows)
    assert all("waiting for memory" in row["reason"] for row in rows)
    assert result.files["timeline.csv"].decode().count("\n") == len(rows) + 1
    assert result.stats["configuration"]["controllers"] == ["shed"]


def test_results_do_not_depend_on_threads():
    runs = [ws.simulate("tiny", WORK, policy=[Shed(), 'probe:period=700,counters=["issued"]'], threads=threads, interval=300) for threads in (1, 2)]
    for name in ("stats.json", "timeline.csv", "intervals.csv"):
        assert runs[0].files[name] == runs[1].files[name], name


def test_the_same_policy_in_python_and_in_rust_gives_the_same_results():
    class Limit(ws.Controller):
        name, knobs, on = "limit", ("cta_limit", "warp_limit"), ("start",)

        def observe(self, seen):
            return [ws.CtaLimit(2), ws.WarpLimit(8)]

    ours = ws.simulate("tiny", WORK, policy=Limit()).stats
    theirs = ws.simulate("tiny", WORK, policy="static_limit:ctas=2,warps=8").stats
    assert ours["components"] == theirs["components"] and ours["total"] == theirs["total"]


def test_observations_have_counters_events_and_facts():
    seen_all = []

    class Watch(ws.Controller):
        name, every, on = "watch", 1000, ("start", "kernel_started", "kernel_ended", "cta_ended")

        def observe(self, seen):
            seen_all.append((seen.cycle, seen.interval, seen.sms.sum("warp_instructions"), list(seen.events)))
            assert len(seen.sms) == 4 and len(seen.sms["issued"]) == 4 and "reads" in seen.partitions.columns
            assert seen.facts["warps_per_sm"] > 0 and seen.facts["kernels"][0]["ctas"] > 0
            with pytest.raises(KeyError, match='there is no counter "nothing"'):
                seen.sms["nothing"]

    result = ws.simulate(ws.Machine("tiny", {"gpu.sms": 4}), ws.Model("stream", cta_count=40, iterations=2), policy=Watch())
    names = {name for _, _, _, events in seen_all for _, name, _ in events}
    assert seen_all[0][:3] == (0, 0, 0) and {"kernel_started", "cta_ended"} <= names
    assert sum(seen[1] for seen in seen_all) == seen_all[-1][0] and [seen[0] for seen in seen_all] == sorted({seen[0] for seen in seen_all})
    assert sum(seen[2] for seen in seen_all) <= result.summary.warp_instructions


def test_statistics_over_time_are_signals():
    class Waiting(ws.Statistic):
        name, every = "waiting", 500

        def measure(self, seen):
            return {"warps": seen.sms.sum("resident_warp_cycles") / seen.interval, "issued": [float(one) for one in seen.sms["issued"]]}

    result = ws.simulate("tiny", WORK, policy=Waiting())
    plain = ws.simulate("tiny", WORK)
    rows = list(result.timeline.rows())
    assert {row["name"] for row in rows} == {"warps", "issued"} and any(row["value"] > 0 for row in rows)
    assert {row["sm"] for row in rows if row["name"] == "issued"} == set(range(len(result.sms)))
    assert result.cycles == plain.cycles


def test_an_exception_in_a_controller_ends_the_run_and_is_raised():
    class Broken(ws.Controller):
        name, every = "broken", 500

        def observe(self, seen):
            raise RuntimeError("at last")

    with pytest.raises(RuntimeError, match="at last"):
        ws.simulate("tiny", WORK, policy=Broken())


def test_a_controller_can_end_a_run():
    class Enough(ws.Controller):
        name, every = "enough", 700

        def observe(self, seen):
            self.over = seen.cycle >= 1400

    result = ws.simulate("tiny", WORK, policy=Enough())
    assert result.ended_by == "controller" and 1400 <= result.cycles <= 1402


@pytest.mark.parametrize(
    ("attributes", "decisions", "message"),
    [
        ({"knobs": ("cta_limit",)}, [ws.WarpLimit(1)], "sets warp_limit without declaring it: add it to `knobs`"),
        ({"knobs": ("cta_limit",)}, [ws.CtaLimit(0)], "cta_limit 0: expected a number, at least 1"),
        ({"knobs": ("cta_limit",)}, [ws.CtaLimit(1, sm=99)], "there is no SM 99: the machine has"),
        ({"knobs": ("power",)}, [ws.Power("off")], "the states are: gated, paused, active"),
        ({"knobs": ("warps",)}, [], 'there is no knob "warps"; the knobs are: cta_limit, warp_limit, power, owner, preempt, preempt_cta, kernel_ctas, bypass'),
        ({"every": 0}, [], "`every` is 0 core cycles"),
        ({"every": None}, [], "is never called: set `every`"),
        ({"on": ("end",)}, [], 'there is no event "end"'),
    ],
)
def test_mistakes_of_controllers_are_explained(attributes, decisions, message):
    body = {"name": "wrong", "every": 500, "observe": lambda self, seen: decisions, **attributes}
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        ws.simulate("tiny", WORK, policy=type("Wrong", (ws.Controller,), body)())


def test_two_controllers_of_one_knob_are_refused():
    with pytest.raises(ws.ConfigError, match="both set `cta_limit`"):
        ws.simulate("tiny", WORK, policy=[Shed(), "static_limit:ctas=1"])
    with pytest.raises(TypeError, match="int as a policy"):
        ws.simulate("tiny", WORK, policy=[3])
