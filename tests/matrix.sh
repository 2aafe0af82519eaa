#!/usr/bin/env bash
# Compares dot products of the matrix units with MMA-Sim: COUNT products of each rule (architecture, input types, accumulator), half of them adversarial.
# Also compares a million products of bytes and of doubles with the host.
# usage: bash tests/matrix.sh [COUNT] [RULE ...]      (default: a million, all rules; PYTHON is an interpreter with mmasim and torch)
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
if ! "$python" -c 'import mmasim, torch' 2> /dev/null; then
    echo "SKIPPED: dot products of matrix units: $python has no mmasim and torch (python3 -m pip install mmasim torch)"
    exit 0
fi
count="${1:-1000000}"
rules="${*:2}"
compare() {
    cargo test --quiet --package warpshard-program --lib -- "$1" > "$folder/log" 2>&1 && grep -q ' 1 passed' "$folder/log" || { cat "$folder/log"; exit 1; }
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
WARPSHARD_AT_LENGTH=1 compare products_of_bytes_and_doubles
echo "bytes and doubles  1000000 dot products of each kernel equal"
for rule in ${rules:-$("$python" programs/tools/matrix_sums.py --rules)}; do
    "$python" programs/tools/matrix_sums.py "$count" "$folder/sums.txt" "$rule"
    WARPSHARD_MATRIX_SUMS="$folder/sums.txt" compare dot_products_are_those_of_the_hardware
    printf '%-18s %s dot products equal\n' "$rule" "$(wc -l < "$folder/sums.txt")"
done
