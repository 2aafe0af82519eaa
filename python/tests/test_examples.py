"""The notebooks under examples/ are executed from their first cell to their last."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib", "pandas")
CUDA = ("vector_add", "reduction", "triton_softmax")


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_a_notebook_runs(name, tmp_path):
    missing = [module for module in NEEDED if importlib.util.find_spec(module) is None]
    if name in CUDA and importlib.util.find_spec("triton") is None:
        missing.append("triton, NVRTC")
    if missing:
        pytest.skip(f"SKIPPED: {', '.join(missing)} cannot be had")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are stored without outputs"
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert outputs, "a notebook shows something"


def test_there_are_five_notebooks():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*CUDA, "sweep", "controller"}
