#!/usr/bin/env bash
# A sweep by HyperQueue: a server and a worker on this machine. The collected table must equal the table of a sweep without it.
# usage: bash tests/hyperqueue.sh [SLICES]   WARPSHARD_BIN names the program [target/debug/warpshard]; PYTHON an interpreter with the package
#                                            hyperqueue [python3], which is used if there is no command hq
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python3}")
slices=${1:-6}
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
here=$PWD
work=$(mktemp -d)
export HQ_SERVER_DIR="$work/server"
daemons=()
stop() {
    for daemon in "${daemons[@]}"; do kill -KILL "$daemon" 2> /dev/null || true; done
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap stop EXIT
mkdir -p "$HQ_SERVER_DIR"

if command -v hq > /dev/null; then
    hq server start > "$work/server.log" 2>&1 &
    daemons+=($!)
    for _ in $(seq 100); do hq server info > /dev/null 2>&1 && break; sleep 0.1; done
    hq worker start --cpus 2 > "$work/worker.log" 2>&1 &
    daemons+=($!)
    way="its command hq"
elif "$python" -c 'import hyperqueue' 2> /dev/null; then
    cat > "$work/cluster.py" << 'PY'
import sys, time
from hyperqueue import LocalCluster
from hyperqueue.cluster import WorkerConfig

with LocalCluster(sys.argv[1], WorkerConfig(cores=2)):
    print("up", flush=True)
    while True:
        time.sleep(60)
PY
    "$python" "$work/cluster.py" "$HQ_SERVER_DIR" > "$work/server.log" 2>&1 &
    daemons+=($!)
    for _ in $(seq 100); do grep -q up "$work/server.log" && break; sleep 0.1; done
    mkdir "$work/bin"
    printf '#!/bin/bash\nexec "%s" "%s" "$@"\n' "$python" "$here/tests/hq.py" > "$work/bin/hq"
    chmod +x "$work/bin/hq"
    export PATH="$work/bin:$PATH"
    way="its server and worker from PyPI, and its Python client in place of the command hq, which no registry has"
else
    echo "SKIPPED: HyperQueue: neither its command hq nor the Python package hyperqueue is installed"
    exit 0
fi

cat > "$work/plan.toml" << 'PLAN'
machines = ["tiny"]
workloads = [{ model = "vecadd", set = { n = 2048 } }]
policies = ["", "static_limit:ctas=1"]
[grid]
gpu.sms = [1, 2, 3, 4]
gpu.sm.order = ["gto", "lrr"]
PLAN
cd "$work"
"$bin" sweep plan.toml --out alone > /dev/null
timeout 300 "$bin" sweep submit plan.toml --to hyperqueue --out by-hq --slices "$slices" > said 2>&1 || { cat said server.log; exit 1; }
cmp alone/sweep.csv by-hq/sweep.csv
logs=$(grep -l 'Slice [0-9]*/'"$slices"': ' by-hq/hyperqueue/slice-*.log | wc -l)
[ "$logs" = "$slices" ] || { echo "error: $logs of $slices slices have a log" >&2; exit 1; }
echo "HyperQueue: $slices slices of 16 runs by $way; the table equals that of a sweep without it"
