#!/usr/bin/env bash
# Measures the speed-up by threads on a busy host: runs `warpshard run` with one and with several threads in turn while busy
# loops use the host's cores, and prints the seconds of each run and the smallest and median ratio of the pairs. Asserts nothing.
#
# usage: bash benches/busy_host.sh PROGRAM [LOOPS [RUNS [THREADS [ARGUMENT..]]]]
#   PROGRAM   the warpshard binary, for example target/release/warpshard
#   LOOPS     busy loops that run at the same time, not pinned (default 4; 0 for an idle host)
#   RUNS      pairs of runs (default 5)
#   THREADS   threads of the second run of a pair (default: all usable cores)
#   ARGUMENT  further arguments of `run` (default: --machine v100 --workload stream)
set -euo pipefail
export LC_ALL=C
if [ $# -lt 1 ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
fi
program=$1 loops=${2:-4} runs=${3:-5} threads=${4:-$(nproc)}
shift $(($# < 4 ? $# : 4))
[ $# -gt 0 ] || set -- --machine v100 --workload stream
folder=$(mktemp -d)
started=()
cleanup() {
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT

# Each loop ends by itself, even if this script is killed.
for ((i = 0; i < loops; i++)); do
    timeout 900 sh -c 'while :; do :; done' &
    started+=($!)
done

seconds() {
    local begin end
    begin=$(date +%s.%N)
    "$program" run "$@" --out "$folder/out" --force >"$folder/text" 2>&1 || { cat "$folder/text" >&2; exit 1; }
    end=$(date +%s.%N)
    awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.3f", b - a }'
}

seconds "$@" --threads 1 >/dev/null
for ((i = 0; i < runs; i++)); do
    one=$(seconds "$@" --threads 1)
    several=$(seconds "$@" --threads "$threads")
    active=$(sed -n 's/.*"mean_workers": \([0-9.]*\).*/\1/p' "$folder/out/host.json" | cut -c 1-4)
    awk -v a="$one" -v b="$several" -v t="$threads" -v w="${active:-?}" \
        'BEGIN { printf "1 thread %s s, %s threads %s s, ratio %.3f, %s workers active on average\n", a, t, b, b / a, w }'
done | tee "$folder/pairs"
sed 's/.*ratio \([0-9.]*\).*/\1/' "$folder/pairs" | sort -n |
    awk -v l="$loops" '{ r[NR] = $1 } END { printf "%d busy loops: ratio at least %.3f, median %.3f, at most %.3f\n", l, r[1], r[int((NR + 1) / 2)], r[NR] }'
