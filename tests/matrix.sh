#!/usr/bin/env bash
# Compares dot products of the matrix units with MMA-Sim's: COUNT of each rule (architecture, input types, accumulator), half of them adversarial; and a
# million of bytes and of doubles with the host's.
# usage: bash tests/matrix.sh [COUNT] [RULE ...]      (a million and all rules by default; PYTHON is an interpreter with mmasim and torch)
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
if ! "$python" -c 'import mmasim, torch' 2> /dev/null; then
    echo "SKIPPED: dot products of matrix units: $python has no mmasim and torch (python3 -m pip install mmasim torch)"
    exit 0
fi
count="${1:-1000000}"
rules="${*:2}"
WARPSHARD_AT_LENGTH=1 cargo test --quiet --package warpshard-program --lib -- --nocapture products_of_bytes_and_doubles | grep ' dot products'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for rule in ${rules:-$("$python" programs/tools/matrix_sums.py --rules)}; do
    "$python" programs/tools/matrix_sums.py "$count" "$folder/sums.txt" "$rule"
    WARPSHARD_MATRIX_SUMS="$folder/sums.txt" cargo test --quiet --package warpshard-program --lib -- --nocapture dot_products > "$folder/log" 2>&1 \
        || { cat "$folder/log"; exit 1; }
    printf '%-18s %s\n' "$rule" "$(grep -o '[0-9]* dot products' "$folder/log") equal"
done
