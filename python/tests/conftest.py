"""Fixtures of all tests: the repository, the command line program, small machines."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import warpshard as ws

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def command():
    """Runs the program `warpshard` of the same sources, whose path `run.sh` provides."""
    program = os.environ.get("WARPSHARD_BIN", str(REPOSITORY / "target/debug/warpshard"))
    if not Path(program).is_file():
        pytest.skip(f"SKIPPED: the command line program is not built: {program} (WARPSHARD_BIN names another)")

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert ws.build in version, f"{program} and the package were built from different commits: {version.strip()}, {ws.build}"

    def run(*words: object, **options):
        return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False, **options)

    return run
