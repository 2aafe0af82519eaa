#!/usr/bin/env bash
# Pages in a real browser: the page of a run and of a comparison, in the distribution's Chromium, on a wide screen and on a phone. The console must
# stay empty, and the screenshot must not.
# usage: bash tests/browser.sh [FOLDER]      keeps the screenshots in FOLDER; WARPSHARD_BIN names the program [target/debug/warpshard]
set -euo pipefail
cd "$(dirname "$0")/.."
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || { echo "SKIPPED: pages in a browser: chromium is not installed"; exit 0; }
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shots=$(realpath -m "${1:-$work}")
mkdir -p "$shots"
cd "$work"
options=(--machine tiny --workload gemm_tiled --max-cycles 6000)
"$bin" run "${options[@]}" --interval 100 --policy static_limit:ctas=2 --out one > /dev/null
"$bin" run "${options[@]}" --set gpu.sms=2 --out two > /dev/null
"$bin" report one --html run.html > /dev/null
"$bin" compare one two --html compare.html > /dev/null
for page in run compare; do
    for size in 1200,3000 400,3000; do
        shot="$shots/$page-${size%,*}.png"
        timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --log-level=0 --user-data-dir="$work/profile" \
            --window-size="$size" --screenshot="$shot" "file://$work/$page.html" 2> "$work/log"
        if grep -E 'CONSOLE' "$work/log"; then
            echo "error: $page.html writes to the console" >&2
            exit 1
        fi
        [ "$(stat -c %s "$shot")" -gt 40000 ] || { echo "error: the screenshot of $page.html is empty" >&2; exit 1; }
    done
done
echo "Pages: run and comparison, wide and narrow, without console messages"
