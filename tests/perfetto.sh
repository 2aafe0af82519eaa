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

# CTAs, warps and banks, recorded during the simulation, for both kinds of DRAM controllers: the trace has the same bytes for every number of threads,
# and the results equal those of a run without the trace.
for machine in tiny gtx480; do
    options=(--machine "$machine" --workload gemm_tiled --max-cycles 6000 --interval 500)
    # The command-level controller issues refreshes.
    [ "$machine" = tiny ] || options+=(--set mem.dram.controller=standard)
    for threads in 1 2; do
        "$bin" run "${options[@]}" --threads "$threads" --perfetto "$work/$machine-$threads.pftrace" --perfetto-sms 0-1 --perfetto-channels 0-1 \
            --out "$work/$machine-$threads" > /dev/null
    done
    cmp "$work/$machine-1.pftrace" "$work/$machine-2.pftrace"
    "$bin" run "${options[@]}" --threads 1 --out "$work/$machine" > /dev/null
    cmp "$work/$machine/stats.json" "$work/$machine-1/stats.json"
    cmp "$work/$machine/run.toml" "$work/$machine-1/run.toml"
    "$python" tests/read_activity.py "$work/$machine-1" "$work/$machine-1.pftrace" 2 2
done
# Producers and consumers: the trace has copies, phases and products in addition to the warps.
options=(--machine h100 --program programs/tensor/wgmma_gemm.toml --set workload.m=128 --set workload.n=128)
"$bin" run "${options[@]}" --threads 1 --out "$work/h100" > /dev/null
for threads in 1 2; do
    "$bin" run "${options[@]}" --threads "$threads" --perfetto "$work/h100-$threads.pftrace" --perfetto-sms all --perfetto-channels 0-1 \
        --out "$work/h100-$threads" > /dev/null
    cmp "$work/h100/stats.json" "$work/h100-$threads/stats.json"
done
cmp "$work/h100-1.pftrace" "$work/h100-2.pftrace"
"$python" tests/read_activity.py "$work/h100-1" "$work/h100-1.pftrace" 4 2

"$bin" run --machine tiny --workload gemm_tiled --max-cycles 4000 --perfetto "$work/few.pftrace" --perfetto-events 100 --perfetto-from 1000 \
    --out "$work/few" > /dev/null 2> "$work/said"
grep -q "the trace omits later events" "$work/said"
[ "$(stat -c %s "$work/few.pftrace")" -lt 60000 ]
for wrong in "--perfetto-sms 99" "--perfetto-channels 99" "--perfetto-sms x" "--perfetto-events 0"; do
    # shellcheck disable=SC2086
    "$bin" run --machine tiny --perfetto "$work/x" $wrong > /dev/null 2> "$work/said" && { echo "error: $wrong is accepted" >&2; exit 1; } || code=$?
    [ "$code" = 2 ] || { echo "error: $wrong ends with $code: $(cat "$work/said")" >&2; exit 1; }
done
