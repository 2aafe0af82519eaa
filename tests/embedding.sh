#!/usr/bin/env bash
# Builds and runs tests/embedding, a program outside the workspace that depends on the library by path and defines policies, a controller and a
# workload. It ends with an error if threads or checkpoints change its results.
# usage: bash tests/embedding.sh        (from the root of the checkout)
set -euo pipefail
cd "$(dirname "$0")/.."
# All dependencies have the versions of the workspace.
cp Cargo.lock tests/embedding/Cargo.lock
CARGO_TARGET_DIR="$PWD/target/embedding" cargo run --offline --quiet --manifest-path tests/embedding/Cargo.toml
