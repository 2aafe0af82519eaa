"""programs/tools/measure.py with a stand-in for the CUDA driver: buffers are bytes, and a few kernels have the same effects as on a GPU."""

import csv
import ctypes
import json
import struct
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "programs/tools"))

import launching  # noqa: E402
import measure  # noqa: E402

PER_STEP, ONCE = 31, 700


class Function:
    def __init__(self, name):
        self.name = name


class Standin:
    """The driver functions that the scripts call."""

    def __init__(self, wrong=False, devices=1):
        self.memory, self.next, self.handles, self.time, self.wrong, self.devices = {}, 1 << 32, {}, 0.0, wrong, devices

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *arguments: getattr(self, "do_" + name, self.nothing)(*arguments) or 0

    def nothing(self, *_):
        return 0

    def handle(self, target, what):
        self.handles[len(self.handles) + 1] = what
        target._obj.value = len(self.handles)

    def do_cuDeviceGetCount(self, count):
        count._obj.value = self.devices

    def do_cuDeviceGetName(self, name, *_):
        name.value = b"Stand-in"

    def do_cuDeviceGetAttribute(self, value, number, _):
        value._obj.value = {75: 9, 76: 0, 16: 7, 13: 1_500_000}.get(number, 64)

    def do_cuMemAlloc_v2(self, address, size):
        address._obj.value, self.next = self.next, self.next + (size.value + 511) // 512 * 512
        self.memory[address._obj.value] = bytearray(b"\xab" * size.value)

    def do_cuMemFree_v2(self, address):
        del self.memory[address.value]

    def do_cuMemcpyHtoD_v2(self, address, data, size):
        if address.value in self.memory:
            self.memory[address.value][: size.value] = data[: size.value]

    def do_cuMemcpyDtoH_v2(self, target, address, size):
        ctypes.memmove(target, bytes(self.memory[address.value]), size.value)

    def do_cuModuleLoadData(self, module, data):
        self.handle(module, data)

    def do_cuModuleGetGlobal_v2(self, address, size, *_):
        address._obj.value, size._obj.value = 1, 1 << 14

    def do_cuModuleGetFunction(self, function, _, name):
        self.handle(function, name.decode())

    def do_cuEventCreate(self, event, _):
        self.handle(event, {})

    def do_cuEventRecord(self, event, _):
        self.handles[event.value]["at"] = self.time

    def do_cuEventElapsedTime(self, elapsed, begin, end):
        elapsed._obj.value = self.handles[end.value]["at"] - self.handles[begin.value]["at"]

    def do_cuGetErrorName(self, _, text):
        text._obj.value = b"CUDA_ERROR_OUT_OF_MEMORY"

    def do_cuLaunchKernel(self, function, *rest):
        name, pointers = self.handles[function.value], rest[8]

        def argument(i, form):
            return form.from_address(pointers[i]).value

        self.time += 0.002
        if name == "through":
            begin, steps = 5000, argument(6, ctypes.c_uint32)
            self.memory[argument(2, ctypes.c_uint64)][:16] = struct.pack("<2Q", begin, begin + ONCE + PER_STEP * steps)
            entries = len(self.memory[argument(0, ctypes.c_uint64)]) // 128
            self.memory[argument(1, ctypes.c_uint64)][:8] = struct.pack("<Q", steps * 7919 % entries * 128)
        elif name == "copies":
            source, target = (self.memory[argument(i, ctypes.c_uint64)] for i in range(2))
            target[:] = source
            if self.wrong:
                target[3] ^= 1
            self.time += len(target) * 2 / 1e9
        elif name == "nothing":
            self.time += rest[0] / 1e6


def sizes(source):
    """Returns the sizes of parameters by kernel, from the listing for sm_90 next to the source."""
    found = {}
    for line in Path(source.decode()).with_suffix(".sm_90.sass").read_text().splitlines():
        words = line.split()
        if words[:1] == ["kernel"]:
            kernel = words[1]
        elif words[:1] == ["parameters"]:
            found[kernel] = [int(pair.split(":")[1]) for pair in words[3:]]
    return found


@pytest.fixture
def gpu(monkeypatch):
    """Replaces the driver by a stand-in, and the output of NVRTC by the path of the source."""

    def use(**options):
        driver = Standin(**options)
        monkeypatch.setattr(launching.ctypes, "CDLL", lambda _: driver)
        monkeypatch.setattr(measure, "cubin", lambda source, arch, folder: source.encode())
        monkeypatch.setattr(launching, "parameter_sizes", sizes)
        return driver

    return use


def test_a_pointer_chase_reports_cycles_per_step_without_overhead(gpu, tmp_path):
    driver = gpu()
    out = tmp_path / "micro.json"
    assert measure.main(["micro", "--only", "chase_ca.208", "--only", "launch_us", "--only", "copy_512", "--full", "--out", str(out)]) == 0
    values = json.loads(out.read_text())
    assert values["name"] == "Stand-in"
    assert values["device"]["sms"] == 7 and values["device"]["core_khz"] == 1_500_000
    assert values["chase_ca"] == {"208": PER_STEP}
    assert values["launch_us"]["13200"] - values["launch_us"]["1320"] == pytest.approx(11.88, rel=1e-3)
    # The copy moves two bytes for each byte of the buffer, at two milliseconds per gigabyte.
    assert values["stream_us"]["copy_512.1"] == pytest.approx(1000, rel=1e-3)
    assert not driver.memory, "all buffers are freed"


def test_the_suite_compares_results_and_skips_unsupported_programs(gpu, tmp_path, capsys):
    out = tmp_path / "suite.csv"
    for wrong, result, code in ((False, "equal", 0), (True, "different", 1)):
        gpu(wrong=wrong)
        only = ["stream_copy", "micro/launch", "collectives/copy", "rodinia/mummer", "micro/peer_lat"]
        arguments = [word for one in only for word in ("--only", one)]
        assert measure.main(["suite", *arguments, "--repeat", "2", "--out", str(out)]) == code
        rows = list(csv.DictReader(out.open()))
        assert [(row["program"], row["launch"], row["result"]) for row in rows] == [
            ("micro/launch", "0", ""),
            ("micro/launch", "all", "equal"),
            ("micro/stream_copy", "0", ""),
            ("micro/stream_copy", "all", result),
        ]
        assert rows[0]["grid"] == "132x1x1" and rows[0]["block"] == "32x1x1"
        assert float(rows[0]["median_us"]) == pytest.approx(2.132, rel=1e-3)
        said = capsys.readouterr().err
        for name, why in (("collectives/copy", "copies between GPUs"), ("rodinia/mummer", "textures"), ("micro/peer_lat", "more than one GPU")):
            assert f"{name}: left out: it " in said and why in said
    gpu()
    measure.main(["suite", "--only", "micro/launch", "--set", "ctas=5", "--out", str(out)])
    last = list(csv.DictReader(out.open()))[-1]
    assert (last["set"], last["result"]) == ("set", "not compared")


def test_buffer_contents_equal_functional_execution():
    launch = launching.Launch(str(ROOT / "programs/saxpy.toml"))
    row = launch.text["buffers"]["x"]
    data = launching.contents(row, 4, launch.names)
    assert all(-1 <= value < 1 for value in struct.unpack("<4f", data))
    assert launching.number("(n + 255) / 256", {"n": 50000}) == 196
    assert launching.contents({"type": "bf16", "contents": {"constant": 1.0}}, 2, {}) == b"\x80\x3f\x80\x3f"
    assert launching.contents({"type": "i16", "contents": {"formula": "i * 3 - 1"}}, 3, {}) == struct.pack("<3h", -1, 2, 5)
    with pytest.raises(launching.Failure, match="no parameter is called `m`"):
        launching.number("m + 1", {"n": 2})


def test_every_launch_file_can_be_bound_or_reports_why_not(gpu):
    gpu()
    driver = launching.Driver()
    bound = 0
    for name, path in measure.programs([]):
        launch = launching.Launch(path)
        if launch.refusal() is not None:
            continue
        # Buffers have one byte, since other tests check their contents.
        launch.text = launch.text | {"buffers": {key: {"type": "u8", "count": 1} for key in launch.text.get("buffers", {})}}
        with launching.Execution(driver, launch, launch.source().encode()) as execution:
            assert execution.timed, name
        bound += 1
    assert bound > 80


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["suite", "--only", "no/such"], "no launch file below"),
        (["suite", "--only", "saxpy", "--device", "3"], "there is no device 3: the driver has 1"),
        (["micro", "--only", "latency.ffma", "--out", "/no/such/folder/x"], "No such file or directory"),
    ],
)
def test_invalid_arguments_end_with_a_message(gpu, capsys, arguments, expected):
    gpu()
    assert measure.main(arguments) == 2
    assert expected in capsys.readouterr().err


def test_without_a_driver_the_message_names_the_required_host(monkeypatch, capsys):
    monkeypatch.setenv("WARPSHARD_LIBCUDA", "libno-such-driver.so")
    assert measure.main(["micro"]) == 2
    assert "run where the GPU is" in capsys.readouterr().err
