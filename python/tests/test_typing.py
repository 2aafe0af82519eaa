"""The package is typed and documented."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import warpshard as ws


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="SKIPPED: mypy cannot be had")
def test_the_sources_and_their_stubs_are_typed(repository):
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=repository / "python", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_package_is_marked_as_typed():
    folder = Path(ws.__file__).parent
    assert (folder / "py.typed").is_file() and (folder / "_native.pyi").is_file()


def test_everything_public_is_documented():
    missing = []
    for name in ws.__all__:
        thing = getattr(ws, name)
        if not inspect.getdoc(thing):
            missing.append(name)
        if inspect.isclass(thing) and thing.__module__.startswith("warpshard."):
            for part, value in vars(thing).items():
                if not part.startswith("_") and (callable(value) or isinstance(value, property)) and not inspect.getdoc(value):
                    missing.append(f"{name}.{part}")
    assert not missing


def test_the_native_module_matches_its_stub():
    import ast

    from warpshard import _native

    tree = ast.parse((Path(ws.__file__).parent / "_native.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
            assert all(hasattr(getattr(_native, node.name), part) for part in members), node.name
            public = [part for part in dir(getattr(_native, node.name)) if not part.startswith("_")]
            ours = {part for part in public if not hasattr(Exception, part)}
            assert ours <= {*members, "exit_code"}, node.name
        elif isinstance(node, ast.FunctionDef):
            assert callable(getattr(_native, node.name))
