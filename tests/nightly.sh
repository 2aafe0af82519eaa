#!/usr/bin/env bash
# Checks that take too long for tests/all.sh: all ways of running for each case of the invariance tests, the memory of 100,000 launches, tests with
# other programs (Slurm, HyperQueue, a browser), a build without features, a build with all recipes of docs/adding.md applied, a program outside the
# tree, minutes of fuzzing, a hundred killed runs, a million dot products of each rule of the matrix units, loom models with three preemptions and all
# of their mutants, miri and ThreadSanitizer. Prints the time of each step.
# usage: bash tests/nightly.sh        (from the root of the checkout; after tests/all.sh, whose program and Python environment it uses)
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/steps.sh
python="$PWD/target/tools/python/bin/python"

ways() { WARPSHARD_AT_LENGTH=1 cargo test --workspace --exclude warpshard-python --features "$features" --quiet --test simulation -- invariance extremes; }
launches() { WARPSHARD_AT_LENGTH=1 cargo test --workspace --exclude warpshard-python --features "$features" --quiet --test command -- hundred_thousand; }
without_features() { cargo clippy --workspace --exclude warpshard-python --no-default-features --quiet -- -D warnings; }
loom() {
    RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 \
        cargo test --package warpshard-sync --release --quiet --target-dir target/loom --test 'loom_*'
}
recipes() { WARPSHARD_ADDING=build cargo test --workspace --exclude warpshard-python --features "$features" --quiet --test adding; }
# The seed is fixed, so that the same tree gives the same result every night; WARPSHARD_FUZZ_SEED changes the mutations. A failure prints the command
# that repeats it.
fuzz() {
    WARPSHARD_FUZZ_SECONDS="${WARPSHARD_FUZZ_SECONDS:-600}" WARPSHARD_FUZZ_SEED="${WARPSHARD_FUZZ_SEED:-1}" \
        cargo test --workspace --exclude warpshard-python --features "$features" --quiet --test fuzz
}

step "all ways of running" ways
step "a hundred thousand launches" launches
step "lint without features" without_features
step "recipes of docs/adding.md" recipes
step "optional features" env PYTHON="$python" bash tests/features.sh
step "a program outside the tree" bash tests/embedding.sh
step "a wheel, installed, and the tutorial" bash tests/release.sh
step Slurm bash tests/slurm.sh
step HyperQueue env PYTHON="$python" bash tests/hyperqueue.sh
step "a browser" bash tests/browser.sh
step Perfetto env PYTHON="$python" bash tests/perfetto.sh
step "killed runs" bash tests/kill.sh 100
step fuzz fuzz
step "dot products of matrix units" bash tests/matrix.sh
step "loom models, three preemptions" loom
step "miri and ThreadSanitizer" bash tests/sanitizers.sh
step "loom mutants" bash sync/tests/mutants.sh
finish
echo "all passed"
