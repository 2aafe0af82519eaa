"""Tables of results: plain Python values, and frames of other libraries through Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native

__all__ = ["Table"]


class Table:
    """Named columns of equal length.

    A library that supports Arrow's PyCapsule interface accepts a table directly: `polars.DataFrame(table)`, `pyarrow.table(table)`,
    `duckdb.sql("select * from table")`. `table["cycles"]` is a column as a list.
    """

    __slots__ = ("_native",)

    def __init__(self, columns: Mapping[str, Sequence[Any]] | _native.Table) -> None:
        self._native = columns if isinstance(columns, _native.Table) else _native.Table(dict(columns))

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._native.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._native.shape

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> list[Any]:
        """Returns a column as a list; None for a missing value."""
        return self._native[name]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Returns the rows, each as a dict."""
        columns = {name: self[name] for name in self.columns}
        for row in range(len(self)):
            yield {name: values[row] for name, values in columns.items()}

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns all columns as lists."""
        return {name: self[name] for name in self.columns}

    def to_numpy(self, name: str) -> npt.NDArray[Any]:
        """Returns a column as an array; missing numbers are NaN."""
        values = self[name]
        if any(value is None for value in values) and not any(isinstance(value, str) for value in values):
            return np.array([np.nan if value is None else value for value in values])
        return np.array(values)

    def to_pandas(self) -> Any:
        """Returns a pandas frame, converted with Arrow if pyarrow is installed."""
        import pandas

        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        return pyarrow.table(self).to_pandas()

    def to_polars(self) -> Any:
        """Returns a polars frame."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """Returns a pyarrow table."""
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def _shown(self, most: int = 12) -> tuple[list[str], list[list[str]]]:
        names = self.columns[:most]
        cut = [self[name][:most] for name in names]
        rows = [["" if column[row] is None else _text(column[row]) for column in cut] for row in range(min(len(self), most))]
        return names, rows

    def __repr__(self) -> str:
        names, rows = self._shown()
        widths = [max([len(name)] + [len(row[i]) for row in rows]) for i, name in enumerate(names)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(cells, widths)) for cells in [names, *rows]]
        return "\n".join([*lines, f"[{self.shape[0]} rows x {self.shape[1]} columns]"])

    def _repr_html_(self) -> str:
        from html import escape

        names, rows = self._shown()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table><p>{self.shape[0]} rows, {self.shape[1]} columns</p>"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
