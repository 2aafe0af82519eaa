"""The examples of docs/python.md run in their order without changes."""

from __future__ import annotations

import re

import pytest


def test_the_examples_of_the_documentation_run(repository, tmp_path, monkeypatch, capsys):
    text = (repository / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert len(blocks) >= 8
    (tmp_path / "programs").symlink_to(repository / "programs")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for number, block in enumerate(blocks):
        try:
            exec(compile(block, f"docs/python.md, example {number + 1}", "exec"), names)
        except Exception as error:
            pytest.fail(f"example {number + 1} of docs/python.md: {error!r}\n{block}")
    assert (tmp_path / "results/vecadd/stats.json").is_file() and capsys.readouterr().out
