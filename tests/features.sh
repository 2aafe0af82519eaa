#!/usr/bin/env bash
# The optional features parquet and (if an MPI library and libclang are installed) mpi, and the default feature monitor: a sweep whose Parquet table is
# read back, the monitor in a browser, runs under MPI, and the messages of a build without features.
# usage: bash tests/features.sh [--list]   --list prints only the names of the features that can be built here; PYTHON names an interpreter with
#                                     pyarrow and polars [python3]; leaves the program with features in target/debug
set -euo pipefail
cd "$(dirname "$0")/.."
features=parquet
if bash tests/mpi.sh --can-build > /dev/null; then features=$features,mpi; fi
if [ "${1:-}" = --list ]; then echo "$features"; exit; fi
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Builds this package alone, because the workspace's Python package enables the default features.
cargo build --workspace --exclude warpshard-python --quiet --bin warpshard --no-default-features
plain=target/debug/warpshard
for command in "sweep nowhere.toml --parquet" "sweep submit nowhere.toml --to slurm --parquet" "run --parquet"; do
    # shellcheck disable=SC2086
    "$plain" $command 2> "$work/said" && { echo "error: $command of a build without Parquet succeeds" >&2; exit 1; } || code=$?
    if [ "$code" != 2 ] || ! grep -q 'built without Parquet; .*--features parquet' "$work/said"; then
        echo "error: $command of a build without Parquet ends with $code and prints: $(cat "$work/said")" >&2
        exit 1
    fi
done

code=0
"$plain" run --monitor 0 2> "$work/said" || code=$?
if [ "$code" != 2 ] || ! grep -q 'built without the monitor' "$work/said"; then
    echo "error: --monitor of a build without features ends with $code and prints: $(cat "$work/said")" >&2
    exit 1
fi

cargo build --workspace --quiet --bin warpshard --features "$features"
bin=$(realpath target/debug/warpshard)
cat > "$work/plan.toml" <<'PLAN'
machines = ["tiny"]
workloads = [{ model = "vecadd", set = { n = 2048 } }, { model = "gemm_tiled", set = { m = 64, n = 64, k = 64 } }]
policies = ["", "static_limit:ctas=1"]
[run]
max_cycles = 4000
[grid]
gpu.sms = [1, 2]
gpu.sm.order = ["gto", "lrr"]
PLAN
"$bin" sweep "$work/plan.toml" --out "$work/out" --parquet > /dev/null
cp "$work/out/sweep.parquet" "$work/first.parquet"
"$bin" sweep "$work/plan.toml" --out "$work/out" --collect --parquet > /dev/null
cmp "$work/out/sweep.parquet" "$work/first.parquet"
"$bin" run --machine tiny --workload gemm_tiled --max-cycles 4000 --interval 100 --parquet --out "$work/run" > /dev/null
WARPSHARD_BIN="$bin" bash tests/monitor.sh
if [ "$features" = parquet,mpi ]; then WARPSHARD_MPI_BIN="$bin" bash tests/mpi.sh; else bash tests/mpi.sh; fi
if "$python" -c 'import pyarrow, polars' 2> /dev/null; then
    "$python" tests/read_parquet.py "$work/out/sweep.csv" "$work/out/sweep.parquet"
    "$python" tests/read_parquet.py "$work/run/kernels.csv" "$work/run/kernels.parquet"
    "$python" tests/read_parquet.py "$work/run/intervals.csv" "$work/run/intervals.parquet"
else
    echo "SKIPPED: Parquet is not read back: the Python packages pyarrow and polars are not installed"
fi
