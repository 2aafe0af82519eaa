#!/usr/bin/env python3
"""Follows docs/tutorial.md in an empty folder, with the program on the PATH: writes the files and runs the commands, up to the first that fails.

    python3 tests/tutorial.py FOLDER

A block of CUDA C is written to the file named in the text before it, a block of TOML to the file named in its first line. The first block of commands,
which installs the CUDA packages, is skipped.
"""
import re
import subprocess
import sys
from pathlib import Path

TEXT = Path(__file__).resolve().parents[1] / "docs/tutorial.md"


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    before, commands = "", 0
    for text, language, block in re.findall(r"(.*?)^```(\w*)\n(.*?)^```$", TEXT.read_text(), re.DOTALL | re.MULTILINE):
        before += text
        if language == "cuda":
            name = re.findall(r"`(\w+\.cu)`", before)[-1]
            (folder / name).write_text(block)
        elif language == "toml":
            (folder / block.split("\n")[0].removeprefix("# ")).write_text(block)
        elif language == "sh" and "pip install" not in block:
            print(block, end="", flush=True)
            subprocess.run(["bash", "-euc", block], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            commands += 1
    for wanted in ["results/naive/summary.txt", "results/tiled/summary.txt"]:
        if not (folder / wanted).exists():
            sys.exit(f"{wanted} is not there")
    print(f"{commands} commands of the tutorial passed")


if __name__ == "__main__":
    main()
