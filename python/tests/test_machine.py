"""Machines as objects."""

from __future__ import annotations

import pickle

import pytest

import warpshard as ws
from warpshard import _native


def test_every_key_of_the_reference_is_an_attribute_with_meaning_unit_and_range():
    machine = ws.Machine("v100")
    keys = _native.machine_keys()
    assert len(keys) > 100
    for key in keys:
        value = machine
        for name in key["path"].split("."):
            assert name in dir(value), key["path"]
            value = getattr(value, name)
        shown = machine.help(key["path"])
        assert (shown.value, shown.doc, shown.takes) == (value, key["doc"], key["takes"]) and shown.takes and shown.doc.endswith(".")
    assert len(machine.keys) == sum(machine.help(key["path"]).origin is not None for key in keys) > 80


def test_values_are_read_and_set():
    machine = ws.Machine("v100")
    assert (machine.gpu.sms, machine.name, machine["gpu.sms"]) == (80, "v100", 80)
    machine.gpu.sms = 56
    machine["clocks.core"] = "1 GHz"
    machine.gpu.sm.order = "lrr"
    assert (machine.gpu.sms, machine.clocks.core, machine.gpu.sm.order) == (56, "1000 MHz", "lrr")
    assert machine.changes == {"gpu.sms": "56", "clocks.core": "1 GHz", "gpu.sm.order": "lrr"}
    assert "--set gpu.sms=56" in machine.help("gpu.sms").origin and "v100" in machine.help("gpu.sm.warps").origin
    assert ws.Machine("v100").gpu.sms == 80


def test_every_value_that_is_read_can_be_set_again():
    for name in ws.machines():
        machine = ws.Machine(name)
        values = {key.path: key.value for key in machine.keys if key.path != "name"}
        assert len(values) > 50
        again = machine.changed(values)
        assert [key.value for key in again.keys] == [key.value for key in machine.keys], name


@pytest.mark.parametrize(
    "setting", ["gpu.sms=0", "gpu.smz=1", "gpu.sm.order=gtoo", "gpu.sm=1", "clocks.core=1000", "gpu.dispatch.latency=0", "l1.size=3"]
)
def test_errors_have_the_text_of_the_command_line(command, setting):
    key, _, value = setting.partition("=")
    with pytest.raises(ws.ConfigError) as raised:
        ws.Machine("v100")[key] = value
    done = command("show", "machine", "v100", "--set", setting)
    assert str(raised.value) == done.stderr.strip() and done.returncode == raised.value.exit_code == 3


def test_an_invalid_change_leaves_the_machine_unchanged():
    machine = ws.Machine("v100")
    with pytest.raises(ws.ConfigError):
        machine.gpu.sms = 0
    assert machine == ws.Machine("v100") and machine.changes == {}
    with pytest.raises(AttributeError, match="unknown key `gpu.smz`; known keys of .gpu.: compute_capability, sms"):
        machine.gpu.smz
    with pytest.raises(ws.ConfigError, match="did you mean `gpu.sms`"):
        machine.gpu.smz = 1
    with pytest.raises(ws.ConfigError, match="did you mean `gpu.sms`"):
        machine.help("gpu.smz")
    with pytest.raises(ws.ConfigError, match="unknown machine"):
        ws.Machine("v10")


def test_machines_come_from_files_and_texts_and_go_to_them(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "tiny"\nsummary = "A test."\n[gpu]\nsms = 3\n')
    machine = ws.Machine(path)
    assert (machine.name, machine.summary, machine.gpu.sms) == ("mine", "A test.", 3)
    machine.save(tmp_path / "copy.toml")
    assert [key.value for key in ws.Machine(tmp_path / "copy.toml").keys] == [key.value for key in machine.keys]
    text = ws.Machine.from_toml('extends = "tiny"\n[gpu]\nsms = 3\n', "mine.toml")
    assert text.gpu.sms == 3 and ws.simulate(text, ws.Model("vecadd", n=1024)).stats["components"]["sm"]["count"] == 3
    with pytest.raises(ws.ConfigError, match="wrong.toml:1"):
        ws.Machine.from_toml("gpu = 1", "wrong.toml")


def test_copies_are_independent_and_machines_can_be_pickled():
    machine = ws.Machine("tiny", {"gpu.sms": 3})
    other = machine.copy()
    other.gpu.sms = 4
    assert (machine.gpu.sms, other.gpu.sms) == (3, 4) and machine != other
    again = pickle.loads(pickle.dumps(machine))
    assert again == machine and hash(again) == hash(machine) and repr(machine) == "Machine('tiny', {'gpu.sms': '3'})"


def test_a_table_of_keys_has_a_repr():
    shown = repr(ws.Machine("v100").gpu.dispatch)
    assert "gpu.dispatch.latency = 40" in shown and "Takes cycles of the core clock, from 1 to 4096." in shown
    assert "in Accel-Sim" in str(ws.Machine("v100").help("gpu.sms"))
