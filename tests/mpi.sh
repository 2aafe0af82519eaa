#!/usr/bin/env bash
# Runs in several processes under MPI: the files of a single-process run for several ranks and threads, and a clear error if a rank fails or is killed.
# usage: bash tests/mpi.sh [--can-build|--short]      --can-build: only checks that a program with MPI can be built; --short: only the smallest run
#                                     WARPSHARD_MPI_BIN names a program that was built with MPI [built here, in the dev profile]
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "SKIPPED: MPI: $1"; exit 0; }
bin=${WARPSHARD_MPI_BIN:-}
lacks() {
    command -v mpirun > /dev/null || { echo "there is no mpirun (packages openmpi-bin and libopenmpi-dev)"; return; }
    command -v mpicc > /dev/null || { echo "there is no mpicc (package libopenmpi-dev)"; return; }
    compgen -G '/usr/lib/*/libclang*.so*' > /dev/null || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' > /dev/null || echo "there is no libclang (package libclang-dev)"
}
if [ "${1:-}" = --can-build ]; then [ -z "$(lacks)" ]; exit; fi
[ -z "$(lacks)" ] || skip "$(lacks)"
if [ -z "$bin" ]; then
    cargo build --workspace --quiet --features warpshard/mpi
    bin=target/debug/warpshard
fi
bin=$(realpath "$bin")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Allows tests on a machine with fewer cores than ranks, and as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { mpirun --oversubscribe --bind-to none -n "$@"; }
fail() { echo "error: $1" >&2; exit 1; }

same() {
    local name=$1
    shift
    "$bin" run "$@" --threads 1 --out "$work/$name" > /dev/null
    for way in 1x2 2x1 2x2 3x2; do
        ranks "${way%x*}" "$bin" run --mpi "$@" --threads "${way#*x}" --out "$work/$name-$way" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "$name in ranks $way"; }
        for file in stats.json kernels.csv intervals.csv; do
            cmp "$work/$name/$file" "$work/$name-$way/$file" || fail "$name: $file in ranks $way"
        done
        [ "$(grep -c '^Results in' "$work/log")" = 1 ] || fail "$name: $way ranks printed several reports"
    done
    echo "ok: $name, ranks x threads 1x2, 2x1, 2x2, 3x2"
}
same tiny --machine tiny --workload reduce --interval 500 --policy dyncta:period=512
if [ "${1:-}" = --short ]; then exit; fi
same v100 --machine v100 --workload gather --max-cycles 3000 --interval 500
# Pairs of CTAs that share tiles: clusters, multicast copies, barriers in the shared memory of other CTAs.
same clusters --machine h100 --program programs/tensor/wgmma_gemm_pairs.toml --interval 500
same cpu --machine hetero-small --workload gather --cpu mcf,gcc --cpu-warm 500 --cpu-measure 1000 --max-cycles 3000

# Invalid input produces one message and no result.
if ranks 2 "$bin" run --mpi --machine nonesuch --out "$work/wrong" > "$work/log" 2>&1; then fail "a wrong machine was accepted"; fi
[ "$(grep -c 'nonesuch' "$work/log")" = 1 ] || { cat "$work/log" >&2; fail "the message of a wrong machine was printed several times"; }
[ ! -e "$work/wrong" ] || fail "a wrong machine left a result"
echo "ok: one message for invalid input"

# A killed rank ends the run, and MPI names the rank.
ranks 3 "$bin" run --mpi --machine v100 --workload gather --set workload.rounds=500 --threads 1 --out "$work/killed" > "$work/log" 2>&1 &
run=$!
started=()
for _ in $(seq 100); do
    mapfile -t started < <(pgrep -f "^$bin run --mpi .*$work/killed" || true)
    [ "${#started[@]}" -ge 3 ] && break
    sleep 0.1
done
[ "${#started[@]}" -ge 3 ] || fail "${#started[@]} of 3 ranks were started"
sleep 0.5
kill -9 "${started[-1]}"
if wait "$run"; then fail "a run with a killed rank succeeded"; fi
grep -qiE 'signal 9|killed' "$work/log" || { cat "$work/log" >&2; fail "nothing says that a rank was killed"; }
[ ! -e "$work/killed/stats.json" ] || fail "a killed run left results"
echo "ok: a killed rank ends the run: $(grep -oiE 'process rank [0-9]+ with PID|exited on signal 9' "$work/log" | head -2 | tr '\n' ' ')"
