#!/usr/bin/env bash
# Builds the wheel, which contains the command-line program, installs it in an empty environment without Rust, and runs the tutorial there.
# usage: bash tests/release.sh        (from the root of the checkout; a release build and half a minute)
#
# A line that begins with SKIPPED names each missing tool (maturin, NumPy, NVRTC). The wheel stays in target/wheels.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools/release
most=$((15 * 1000 * 1000))

skip() { echo "SKIPPED: release: $*"; exit 0; }
pip() { timeout 600 "$tools/$1/bin/pip" install --quiet --disable-pip-version-check "${@:2}"; }

[ -x "$tools/build/bin/python" ] || python3 -m venv "$tools/build" || skip "python3 has no venv"
[ -x "$tools/build/bin/maturin" ] || pip build 'maturin>=1.9,<2' || skip "maturin cannot be had"
rm -rf target/wheels "$tools/empty" "$tools/tutorial"
"$tools/build/bin/maturin" build --quiet --release --manifest-path python/Cargo.toml --target-dir target --out target/wheels
wheel=$(ls target/wheels/warpshard-*.whl)
size=$(stat -c %s "$wheel")
echo "$wheel: $size bytes"
[ "$size" -le "$most" ] || { echo "error: the wheel has more than $most bytes" >&2; exit 1; }

python3 -m venv "$tools/empty"
SECONDS=0
pip empty "$wheel" || skip "NumPy, which the wheel needs, cannot be had"
echo "installed in $SECONDS s"
# The PATH contains neither the checkout nor Rust.
path="$PWD/$tools/empty/bin:/usr/bin:/bin"
SECONDS=0
(cd "$tools" && env -i PATH="$path" HOME="$PWD/$tools" warpshard run --out first > /dev/null && rm -r first)
echo "first report in $SECONDS s"
env -i PATH="$path" HOME="$PWD/$tools" warpshard list machines > /dev/null
(cd "$tools" && env -i PATH="$path" python3 -c 'import warpshard; print("cycles", warpshard.simulate("tiny", "vecadd").cycles)')
pip empty nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12 triton==3.3.1 || skip "NVRTC cannot be had, which the tutorial needs"
env -i PATH="$path" HOME="$PWD/$tools" python3 tests/tutorial.py "$tools/tutorial"
echo "the release passed"
