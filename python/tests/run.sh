#!/usr/bin/env bash
# Builds the Python package, installs its wheel in a virtual environment below target/tools, and runs its tests.
# usage: bash python/tests/run.sh [argument of pytest ...]        (needs python3 3.10 or later; the first run takes 3 minutes on two cores, later runs take one)
#
# WARPSHARD_BIN names the command line program of the same commit, which is built by default. A line that begins with SKIPPED names each package
# that cannot be installed, and each skipped test.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=target/tools/python
wanted=python/tests/requirements.txt
skip() { echo "SKIPPED: Python package: $*"; exit 0; }

python=${PYTHON:-python3}
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2> /dev/null || skip "$python is no Python 3.10 or later with venv"

# The environment is created again if the list of packages or the interpreter has changed.
stamp=$({ cat "$wanted"; "$python" -VV; } | cksum)
if [ "$(cat "$tools/.stamp" 2> /dev/null)" != "$stamp" ]; then
    rm -rf "$tools"
    "$python" -m venv "$tools" || skip "no environment can be made in $tools"
    pip() { timeout 600 "$tools/bin/pip" install --quiet --disable-pip-version-check --no-compile "$@" 2> /dev/null; }
    packages=$(grep -v '^#' "$wanted")
    # shellcheck disable=SC2086
    if ! pip $packages; then
        for package in $packages; do
            pip "$package" || case $package in
                maturin* | pytest* | numpy*) skip "$package cannot be had" ;;
                *) echo "SKIPPED: Python package: $package cannot be had" ;;
            esac
        done
    fi
    echo "$stamp" > "$tools/.stamp"
fi

rm -rf target/tools/wheels
if [ -z "${WARPSHARD_BIN:-}" ]; then
    cargo build --quiet --bin warpshard --features parquet
    WARPSHARD_BIN="$PWD/target/debug/warpshard"
fi
[ -x "$WARPSHARD_BIN" ] || { echo "error: WARPSHARD_BIN names no program: $WARPSHARD_BIN" >&2; exit 1; }
built=$("$tools/bin/maturin" build --quiet --manifest-path python/Cargo.toml --profile dev --features parquet --target-dir target --out target/tools/wheels \
    --interpreter "$tools/bin/python" 2>&1) || { echo "$built"; exit 1; }
"$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall target/tools/wheels/*.whl
# The tests run outside of the package's folder, so that they use the installed package and not the sources.
WARPSHARD_BIN="$WARPSHARD_BIN" MPLBACKEND=agg "$tools/bin/python" -m pytest -c python/pyproject.toml --rootdir python python/tests "$@"
