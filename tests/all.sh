#!/usr/bin/env bash
# Everything that must hold before a change lands: format, dependencies, lint, documentation, tests, the Python package, fuzzing, loom models
# and their mutants.
# usage: bash tests/all.sh            (from the root of the checkout)
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s (%s)\n' "$*" "$(date +%T)"; }
# Everything is built with all features that can be built here, and the program once more without any.
features=$(bash tests/features.sh --list)

step format
cargo fmt --all --check
cargo fmt --all --check --manifest-path python/Cargo.toml

step dependencies
bash tests/dependencies.sh

step lint
cargo clippy --workspace --all-targets --features "$features" --quiet -- -D warnings
cargo clippy --workspace --quiet -- -D warnings
cargo clippy --manifest-path python/Cargo.toml --target-dir target --quiet -- -D warnings

step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features "$features" --quiet

step tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Output of passing tests is kept to look for skipped ones; a backtrace of an expected panic is of no use.
unset RUST_BACKTRACE
if ! cargo test --workspace --features "$features" -- --show-output > "$log" 2>&1; then
    grep -vE '^test .* ok$' "$log" | tail -n 200
    exit 1
fi
grep -E '^ +(Running|Doc-tests)|^test result' "$log"

# The same tests without the shared recorded traces, as in a clone that stands alone: only the binaries that look for them, only
# the tests that do more than skip there.
step tests without recorded traces
alone=$(mktemp)
trap 'rm -f "$log" "$alone"' EXIT
for test in config cpu dram fidelity import machines native references traces traces_refused; do
    WARPSHARD_REFERENCE=/nowhere cargo test --workspace --features "$features" --test "$test" -- --show-output >> "$alone" 2>&1 || { tail -n 100 "$alone"; exit 1; }
done
for test in standard_set relaxed; do
    WARPSHARD_REFERENCE=/nowhere cargo test --workspace --features "$features" --test invariance "$test" -- --show-output >> "$alone" 2>&1 || { tail -n 100 "$alone"; exit 1; }
done
grep -E '^ +Running|^test result' "$alone"
if ! grep -q 'SKIPPED: recorded traces: /nowhere' "$alone"; then
    echo "error: the recorded traces were to be hidden, yet no test was skipped" >&2
    exit 1
fi

step the Python package
# The program that the tests have built is the one whose files the package's are compared with.
WARPSHARD_BIN="$PWD/target/debug/warpshard" bash python/tests/run.sh

# What needs programs of the distribution, which are not there everywhere, or the package that the environment of the step before has; these
# print SKIPPED lines of their own.
step programs of the distribution
bash tests/slurm.sh
PYTHON="$PWD/target/tools/python/bin/python" bash tests/hyperqueue.sh
bash tests/browser.sh
PYTHON="$PWD/target/tools/python/bin/python" bash tests/perfetto.sh

step killed runs
bash tests/kill.sh 4

step optional features
PYTHON="$PWD/target/tools/python/bin/python" bash tests/features.sh

step fuzz
# A minute of mutated inputs for every parser. The seed is fixed, so that the same tree is judged alike every day; WARPSHARD_FUZZ_SEED
# chooses other mutations. A failure prints how to repeat it.
WARPSHARD_FUZZ_SECONDS=60 WARPSHARD_FUZZ_SEED="${WARPSHARD_FUZZ_SEED:-1}" cargo test --workspace --features "$features" --quiet --test fuzz

step loom models
RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test --package warpshard-sync --release --quiet --target-dir target/loom --test 'loom_*'

step loom mutants
bash sync/tests/mutants.sh

# A test of a recorded trace prints SKIPPED where it is absent. No test may be skipped for another reason, and none at all
# where the recorded traces are present. (The step "dependencies" prints its own SKIPPED lines: it needs the network.)
if grep -n 'SKIPPED' "$log" "$alone" | grep -v 'SKIPPED: recorded traces: '; then
    echo "error: a test was skipped for another reason than absent recorded traces" >&2
    exit 1
fi
if [ -d "${WARPSHARD_REFERENCE:-../shared/reference}" ] && grep -q 'SKIPPED' "$log"; then
    echo "error: recorded traces are present, yet tests were skipped" >&2
    exit 1
fi
step "all passed"
