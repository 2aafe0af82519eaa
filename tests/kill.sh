#!/usr/bin/env bash
# Runs with checkpoints that are killed with `kill -9` at random times and resumed until they are complete. Each has the files of an uninterrupted
# run. Every second kill comes after the first checkpoint, so that some runs resume from a checkpoint even on a slow host.
# usage: bash tests/kill.sh [TIMES]      total number of kills [100]
#                                     WARPSHARD_BIN names the program [target/debug/warpshard]; WARPSHARD_KILL_SEED changes the times [1]
set -euo pipefail
cd "$(dirname "$0")/.."
times=${1:-100}
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
RANDOM=${WARPSHARD_KILL_SEED:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "error: $1" >&2; exit 1; }

# Core cycles between checkpoints, and the options of each run.
runs=(
    "200 --machine tiny --workload gather --set workload.cta_count=200 --interval 500 --policy dyncta:period=512"
    "300 --machine tiny --program programs/bfs.toml --interval 1000"
    "400 --machine hetero-small --workload gather --set workload.cta_count=96 --cpu mcf,gcc,lbm --cpu-warm 2000 --cpu-measure 20000"
    "2000 --machine v100 --workload reduce --set workload.cta_count=640"
)
killed=0 resumed=0
for number in "${!runs[@]}"; do
    read -r every options <<< "${runs[$number]}"
    # shellcheck disable=SC2086
    began=$(date +%s%N) && "$bin" run $options --threads 1 --out "$work/base" > /dev/null && took=$((($(date +%s%N) - began) / 1000))
    until=$((times * (number + 1) / ${#runs[@]}))
    while [ "$killed" -lt "$until" ]; do
        out=$work/killed
        rm -rf "$out" "$out".*
        for attempt in {1..200}; do
            resume=() threads=$((1 + RANDOM % 3))
            [ ! -e "$out.checkpoint" ] || { resume=(--resume "$out.checkpoint"); resumed=$((resumed + 1)); }
            # shellcheck disable=SC2086
            "$bin" run $options --checkpoint-every "$every" --threads $threads --out "$out" "${resume[@]}" > "$work/log" 2>&1 &
            child=$!
            if [ "$killed" -lt "$until" ] && [ $((killed % 2)) = 1 ]; then
                while [ ! -e "$out.checkpoint" ] && kill -0 $child 2> /dev/null; do sleep 0.001; done
            fi
            # The kill comes at a random time within the length of a whole run; the attempt may end earlier.
            [ "$killed" -ge "$until" ] || { sleep "$(printf '0.%06d' $((RANDOM * 32768 % (took < 999999 ? took : 999999) + RANDOM % 1000)))"; kill -9 $child 2> /dev/null || true; }
            if wait $child 2> /dev/null; then break; fi
            grep -q '^error' "$work/log" && { cat "$work/log" >&2; fail "run $number: attempt $attempt"; }
            killed=$((killed + 1))
        done
        for file in stats.json kernels.csv intervals.csv timeline.csv; do
            [ ! -e "$work/base/$file" ] || cmp "$work/base/$file" "$out/$file" || fail "run $number: $file"
        done
        [ ! -e "$out.checkpoint" ] || fail "run $number: the checkpoint of a complete run still exists"
    done
    rm -rf "$work/base"
done
[ "$resumed" -gt 0 ] || fail "no run went on from a checkpoint"
echo "ok: $killed kills, $resumed resumptions from a checkpoint, the same files each time"
