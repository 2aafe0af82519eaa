#!/usr/bin/env bash
# All checks of a change before it lands: format, dependencies, lint, documentation, tests, the Python package, loom models, and short
# forms of the steps of tests/nightly.sh. Prints the time of each step.
# usage: bash tests/all.sh            (from the root of the checkout)
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/steps.sh

format() { cargo fmt --all --check; }
lint() { cargo clippy --workspace --all-targets --features "$features" --quiet -- -D warnings; }
# Uses the compiler and arguments of `cargo clippy`, so that crates it has checked are not checked again. If cargo sees a difference, it checks them
# again and the step takes longer.
documentation() {
    RUSTC_WORKSPACE_WRAPPER="$(rustc --print sysroot)/bin/clippy-driver" CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" \
        RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features "$features" --quiet
}
# Examples in doc comments are a separate step, because tests/adding builds copies of the tree in the same target folder, and cargo looks at the folder
# only at its start. The Python package has no Rust tests.
tests() { cargo test --workspace --exclude warpshard-python --features "$features" --lib --bins --tests -- --show-output; }
examples() { cargo test --workspace --exclude warpshard-python --features "$features" --doc; }
# The tests that use recorded traces, without the traces, as in a clone of the repository alone.
alone() {
    WARPSHARD_REFERENCE=/nowhere cargo test --workspace --exclude warpshard-python --features "$features" --test simulation -- --show-output traces references import machines
}

step format format
step dependencies bash tests/dependencies.sh
step lint lint
step documentation documentation
step tests tests
no_needless_skips tests
step "examples in documents" examples
step "tests without recorded traces" alone
skips_hidden_traces "tests without recorded traces"
step "the documents as a site" bash tests/site.sh
# The package's files are compared with those of the program built by the tests.
step "the Python package" env WARPSHARD_BIN="$PWD/target/debug/warpshard" bash python/tests/run.sh
step "MPI, short" env WARPSHARD_MPI_BIN="$PWD/target/debug/warpshard" bash tests/mpi.sh --short
step "killed runs, short" bash tests/kill.sh 2
# Runs all models with two preemptions first; tests/nightly.sh uses three.
step "loom models, a few mutants" bash sync/tests/mutants.sh barrier_no_notify mailbox_reversed stop_relaxed
finish
echo "all passed"
