#!/usr/bin/env bash
# Everything that must hold before a change lands: format, dependencies, lint, documentation, tests, the Python package, loom models, and short
# forms of what tests/nightly.sh does at length. Prints what each step took.
# usage: bash tests/all.sh            (from the root of the checkout)
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/steps.sh

format() { cargo fmt --all --check; }
lint() { cargo clippy --workspace --all-targets --features "$features" --quiet -- -D warnings; }
# With the compiler and the arguments that `cargo clippy` has given it, so that what it has checked is not checked again. Where cargo sees a difference,
# it does so, and the step only takes longer.
documentation() {
    RUSTC_WORKSPACE_WRAPPER="$(rustc --print sysroot)/bin/clippy-driver" CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" \
        RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --features "$features" --quiet
}
# Examples in documents come by themselves: tests/adding builds copies of the tree in the same target folder, which cargo looks at again only when it
# begins.
# The Python package has no tests of its own in Rust.
tests() { cargo test --workspace --exclude warpshard-python --features "$features" --lib --bins --tests -- --show-output; }
examples() { cargo test --workspace --exclude warpshard-python --features "$features" --doc; }
# The tests of recorded traces, as in a clone that stands alone.
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
# The program that the tests have built is the one whose files the package's are compared with.
step "the Python package" env WARPSHARD_BIN="$PWD/target/debug/warpshard" bash python/tests/run.sh
step "MPI, short" env WARPSHARD_MPI_BIN="$PWD/target/debug/warpshard" bash tests/mpi.sh --short
step "killed runs, short" bash tests/kill.sh 2
# All models with two preemptions first; three are in tests/nightly.sh.
step "loom models, a few mutants" bash sync/tests/mutants.sh barrier_no_notify mailbox_reversed stop_relaxed
finish
echo "all passed"
