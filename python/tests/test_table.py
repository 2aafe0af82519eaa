"""Tables and the libraries that read them through Arrow."""

from __future__ import annotations

import pytest

import warpshard as ws


@pytest.fixture(scope="module")
def result() -> ws.Result:
    return ws.simulate("v100", ws.Model("vecadd", n=100_000), interval=500)


def test_tables_have_the_numbers_of_the_statistics(result):
    stats = result.stats
    assert len(result.sms) == 80 and result.sms["issued"] == stats["components"]["sm"]["instances"]["issued"]
    kernel = stats["kernels"][0]
    for name in ("name", "cycles", "started", "ended", "ipc", "ctas"):
        assert result.kernels[name] == [kernel[name]], name
    for name, value in kernel["counters"].items():
        assert result.kernels[name] == [value], name
    assert len(result.partitions) == 32
    assert result.partitions["dram.reads"] == stats["components"]["dram"]["instances"]["reads"]
    slices = stats["components"]["llc"]["instances"]["accesses"]
    each = len(slices) // 32
    assert result.partitions["llc.accesses"] == [sum(slices[i : i + each]) for i in range(0, len(slices), each)]
    assert result.components("llc")["accesses"] == slices and set(result.kinds) == set(stats["components"])
    assert dict(zip(result.energy["component"], result.energy["joules"]))["total"] == pytest.approx(stats["energy"]["joules"])
    with pytest.raises(KeyError, match="the kinds are: "):
        result.components("tpu")


def test_intervals_and_power_are_the_files(result):
    lines = result.files["intervals.csv"].decode().splitlines()
    assert lines[0].split(",") == result.intervals.columns and len(lines) - 1 == len(result.intervals) > 2
    for row, line in zip(result.intervals.rows(), lines[1:]):
        assert [str(value) for value in row.values()] == line.split(",")
    lines = result.files["power.csv"].decode().splitlines()
    assert lines[0].split(",") == result.power.columns
    for row, line in zip(result.power.rows(), lines[1:]):
        assert list(row.values()) == pytest.approx([float(cell) for cell in line.split(",")])


def test_a_table_of_python_values():
    table = ws.Table({"a": [1, None, 3], "b": ["x", "y", None], "c": [1.5, 2, None], "d": [True, None, False], "e": [None] * 3})
    assert table.shape == (3, 5) and len(table) == 3 and "a" in table and list(table.to_numpy("a")[::2]) == [1.0, 3.0]
    assert table.to_dict() == {
        "a": [1, None, 3], "b": ["x", "y", None], "c": [1.5, 2.0, None], "d": [True, None, False], "e": [None, None, None],
    }
    assert "3 rows x 5 columns" in repr(table) and "<td>1.5</td>" in table._repr_html_()
    with pytest.raises(KeyError, match="the columns are: a, b"):
        table["z"]
    with pytest.raises(ValueError):
        ws.Table({"a": [1], "b": [1, 2]})


@pytest.mark.parametrize("name", ["kernels", "sms", "partitions", "intervals", "energy", "power", "timeline"])
def test_pandas_polars_and_pyarrow_accept_every_table(result, name):
    table = getattr(result, name)
    pandas = pytest.importorskip("pandas", reason="SKIPPED: pandas cannot be had")
    polars = pytest.importorskip("polars", reason="SKIPPED: polars cannot be had")
    pyarrow = pytest.importorskip("pyarrow", reason="SKIPPED: pyarrow cannot be had")
    values = table.to_dict()
    assert table.to_polars().to_dict(as_series=False) == values and polars.DataFrame(table).shape == table.shape
    assert pyarrow.table(table).to_pydict() == values
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.shape == table.shape and list(frame.columns) == table.columns


def test_tables_and_frames_outlive_each_other(result):
    polars = pytest.importorskip("polars", reason="SKIPPED: polars cannot be had")
    frame = polars.DataFrame(ws.Table({"a": list(range(1000))}))
    assert frame["a"].sum() == 499500
    table = ws.Table({"a": [1]})
    table.__arrow_c_stream__(), table.__arrow_c_schema__()
    assert table["a"] == [1]
