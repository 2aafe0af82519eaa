"""A Parquet table, read with pyarrow and with polars: names, order of rows and values equal those of the CSV file, and columns have types.

usage: python3 tests/read_parquet.py TABLE.csv TABLE.parquet
"""

import csv
import sys

import polars
import pyarrow.parquet

with open(sys.argv[1], newline="") as file:
    head, *rows = csv.reader(file)
table = pyarrow.parquet.read_table(sys.argv[2])
frame = polars.read_parquet(sys.argv[2])
assert table.column_names == frame.columns == head, (table.column_names, head)
assert table.num_rows == frame.height == len(rows) > 0

kinds = {"uint64": int, "double": float, "string": str}
texts = {"status", "machine", "workload", "policies", "ended_by", "digest", "error", "gpu.sm.order", "name", "demangled"}
numbers = {"ipc", "l1_hit_rate", "llc_hit_rate", "dram_row_hit_rate", "joules", "mean_watts", "event_joules"}
for place, field in enumerate(table.schema):
    expected = "string" if field.name in texts else "double" if field.name in numbers or field.name.startswith("share_") else "uint64"
    assert str(field.type) == expected, (field.name, field.type, expected)
    made = kinds[expected]
    cells = [made(row[place]) if row[place] or made is str else None for row in rows]
    for read in (table.column(place).to_pylist(), frame[field.name].to_list()):
        assert [value if value is not None or made is not str else "" for value in read] == cells, field.name
print(f"Parquet: {len(rows)} rows of {len(head)} columns are those of {sys.argv[1].rsplit('/', 1)[-1]}, read with pyarrow and polars")
