#!/usr/bin/env bash
# A monitored run: a client with the token polls, pauses, lists and resumes; the results equal those of a run without the monitor. Clients without
# the token are refused, and many idle connections do not exhaust the program. The page is opened in the distribution's Chromium.
# usage: bash tests/monitor.sh [FOLDER]     keeps the screenshots in FOLDER; WARPSHARD_BIN names the program [target/debug/warpshard]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
work=$(mktemp -d)
run=
trap '[ -z "$run" ] || kill "$run" 2> /dev/null || true; rm -rf "$work"' EXIT
shots=$(realpath -m "${1:-$work}")
mkdir -p "$shots"
fail() { echo "error: $*" >&2; cat "$work"/*.log >&2; exit 1; }

# Invalid options are refused before the simulation starts.
refused() {
    local expected=$1 code=0
    shift
    "$bin" run --machine tiny "$@" > /dev/null 2> "$work/refused.log" || code=$?
    [ "$code" = 2 ] && grep -q -- "$expected" "$work/refused.log" || fail "run $* ends with $code and does not say: $expected"
}
echo short > "$work/short"
echo 0123456789abcdef0123 > "$work/token"
refused "a token is required" --monitor 0.0.0.0:0
refused "at least 16" --monitor 0 --monitor-token-file "$work/short"
refused "expected a port" --monitor nowhere:80
refused "cannot be read\|No such file" --monitor 0.0.0.0:0 --monitor-token-file "$work/none"

options=(--machine tiny --workload gemm_tiled --set workload.m=512 --set workload.n=512 --set workload.k=512 --interval 5000 --max-cycles 1500000 --threads 2)
watched() {
    "$bin" run "${options[@]}" --out "$work/watched" --force "$@" > "$work/run.log" 2>&1 &
    run=$!
    for _ in $(seq 600); do
        page=$(sed -n 's/^Monitor at //p' "$work/run.log")
        at=${page%%#*}
        [ -n "$at" ] && return
        kill -0 "$run" 2> /dev/null || fail "the run has ended before it was watched"
        sleep 0.05
    done
    fail "the run does not say where it is watched"
}
get() { curl -sS --max-time 10 -H 'X-Warpshard: 1' -H "Authorization: Bearer $token" "$@"; }
code_of() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
state() { get "${at}state" | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$1"; }
until_is() {
    for _ in $(seq 400); do
        [ "$(state "$1")" = "$2" ] && return
        sleep 0.05
    done
    fail "$1 does not become $2"
}

watched --monitor 0
case $at in http://127.0.0.1:*) ;; *) fail "the monitor is at $at" ;; esac
token=${page#*#}
[[ $token =~ ^[0-9a-f]{32}$ ]] || fail "the token of the page is $token"
[ "$(grep -c "$token" "$work/run.log")" = 1 ] || fail "the token is printed more than once"
until_is begun True
get -X POST "${at}pause" > /dev/null
until_is paused True
first=$(state cycles)
sleep 0.5
[ "$(state cycles)" = "$first" ] || fail "the run continues while it is paused"
get -X POST "${at}list" > /dev/null
for _ in $(seq 100); do
    lines=$(get "${at}state" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["waiting"]["lines"]))')
    [ "$lines" -gt 0 ] && break
    sleep 0.05
done
[ "$lines" -gt 0 ] || fail "the list of waiting units is empty"
# Requests from a foreign page, or through a foreign host name, are refused.
own=(-H "Authorization: Bearer $token")
[ "$(code_of "${own[@]}" -X POST "${at}resume")" = 403 ] || fail "a request without the header changes something"
[ "$(code_of "${own[@]}" -H 'Host: evil.example' "${at}state")" = 403 ] || fail "a foreign host name is accepted"
[ "$(code_of "${own[@]}" "${at}nothing")" = 404 ] || fail "an unknown path does not return 404"
[ "$(code_of "${at}")" = 200 ] || fail "the page does not return 200"
# Requests without the token, as from other users of the host, are refused.
for path in state nothing; do [ "$(code_of "${at}$path")" = 401 ] || fail "/$path needs no token"; done
[ "$(code_of -X POST -H 'X-Warpshard: 1' "${at}resume")" = 401 ] || fail "a run is resumed without the token"
[ "$(state paused)" = True ] || fail "a client without the token resumes the run"
# Idle connections are limited in number and time out.
files() { ls "/proc/$run/fd" | wc -l; }
before=$(files)
python3 - "$at" <<'CLIENT' &
import socket, sys, time, urllib.parse
address = urllib.parse.urlsplit(sys.argv[1])
idle = [socket.create_connection((address.hostname, address.port)) for _ in range(100)]
time.sleep(8)
CLIENT
idle=$!
sleep 2
[ "$(files)" -le $((before + 32)) ] || fail "100 idle connections take $(($(files) - before)) files"
curl -sS --max-time 60 "${own[@]}" -o /dev/null "${at}state" || fail "100 idle connections block the owner"
wait "$idle"
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -n "$browser" ]; then
    for size in 1200,1600 400,2000; do
        shot="$shots/monitor-${size%,*}.png"
        timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr --log-level=0 --user-data-dir="$work/profile" \
            --virtual-time-budget=3000 --window-size="$size" --screenshot="$shot" "$page" 2> "$work/browser.log"
        ! grep -E 'CONSOLE' "$work/browser.log" || fail "the page writes to the console"
        [ "$(stat -c %s "$shot")" -gt 20000 ] || fail "the screenshot of the page is empty"
    done
else
    echo "SKIPPED: the monitor in a browser: chromium is not installed"
fi
get -X POST "${at}resume" > /dev/null
for _ in $(seq 20); do
    get "${at}state" > /dev/null 2>&1 || break
done
wait "$run" || fail "the watched run fails"
run=

"$bin" run "${options[@]}" --out "$work/alone" > /dev/null
for file in stats.json kernels.csv intervals.csv run.toml energy.csv; do
    [ -e "$work/alone/$file" ] || continue
    cmp "$work/alone/$file" "$work/watched/$file" || fail "$file of the watched run differs"
done

watched --monitor 0.0.0.0:0 --monitor-token-file "$work/token"
! grep -q 0123456789abcdef0123 "$work/run.log" || fail "the token of a file is printed"
at=http://127.0.0.1:${at##*:}
[ "$(code_of "${at}state")" = 401 ] || fail "no token is needed"
[ "$(code_of -H 'Authorization: Bearer 0123456789abcdef0124' "${at}state")" = 401 ] || fail "a wrong token is taken"
[ "$(code_of -H 'Authorization: Bearer 0123456789abcdef0123' "${at}state")" = 200 ] || fail "the token is refused"
kill -INT "$run"
wait "$run" || true
run=
echo "Monitor: a run that was monitored, paused and resumed has the bytes of an unmonitored run"
