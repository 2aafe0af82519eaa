#!/usr/bin/env bash
# The Perfetto trace of a run, read with the Python package `perfetto`.
# usage: bash tests/perfetto.sh        PYTHON names an interpreter with the package [python3]; WARPSHARD_BIN the program [target/debug/warpshard]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -c 'import perfetto' 2> /dev/null || { echo "SKIPPED: Perfetto: the Python package perfetto is not installed"; exit 0; }
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bin" run --machine tiny --workload gemm_tiled --max-cycles 6000 --interval 100 --policy static_limit:ctas=2 --out "$work/run" > /dev/null
"$bin" report "$work/run" --perfetto "$work/run.pftrace" > /dev/null
"$python" tests/read_perfetto.py "$work/run" "$work/run.pftrace"
