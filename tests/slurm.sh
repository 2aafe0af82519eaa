#!/usr/bin/env bash
# A sweep by Slurm: a controller and two nodes on this machine, from the distribution's packages (slurm-wlm, munge). One node is killed during
# the sweep; the collected table must equal the table of a sweep without Slurm.
# usage: bash tests/slurm.sh [SLICES]        WARPSHARD_BIN names the program [target/debug/warpshard]
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in slurmctld slurmd sbatch munged; do
    command -v "$tool" > /dev/null || { echo "SKIPPED: Slurm: $tool is not installed (packages slurm-wlm and munge)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED: Slurm: only root can start its daemons"; exit 0; }
slices=${1:-12}
bin=$(realpath "${WARPSHARD_BIN:-target/debug/warpshard}")
work=$(mktemp -d)
daemons=()
stop() {
    for daemon in "${daemons[@]}"; do kill "$daemon" 2> /dev/null || true; done
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap stop EXIT

mkdir -p "$work"/{state,spool-n1,spool-n2,munge}
chmod 755 "$work"
dd if=/dev/urandom bs=1 count=1024 of="$work/munge/key" 2> /dev/null
chmod 600 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" --log-file="$work/munge/log" \
    --seed-file="$work/munge/seed" 2> /dev/null &
daemons+=($!)
host=$(hostname -s)
cat > "$work/slurm.conf" << CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SlurmdTimeout=8
SlurmctldPort=46817
SlurmctldPidFile=$work/ctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=46818 CPUs=2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=46819 CPUs=2
PartitionName=all Nodes=n1,n2 Default=YES State=UP
CONF
export SLURM_CONF="$work/slurm.conf"
slurmctld -D > "$work/ctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N n1 > "$work/n1.log" 2>&1 &
daemons+=($!)
slurmd -D -N n2 > "$work/n2.log" 2>&1 &
second=$!
daemons+=("$second")
for _ in $(seq 100); do
    [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 2 ] && break
    sleep 0.2
done
if [ "$(sinfo -h -t idle -o %D 2> /dev/null)" != 2 ]; then
    tail -n 5 "$work"/*.log >&2
    echo "error: the Slurm nodes do not start" >&2
    exit 1
fi

cd "$work"
cat > plan.toml << PLAN
machines = ["tiny"]
workloads = [{ model = "vecadd", set = { n = 2048 } }]
seeds = [$(seq -s, "$slices")]
[grid]
gpu.sms = [1, 2]
PLAN
"$bin" sweep plan.toml --out alone > /dev/null
"$bin" sweep submit plan.toml --out swept --to slurm --slices "$slices"
# The node is killed when some slices have ended and others have not.
for _ in $(seq 300); do
    [ "$(find swept/runs -mindepth 1 -maxdepth 1 2> /dev/null | wc -l)" -ge $((slices / 2)) ] && break
    sleep 0.1
done
kill -9 "$second"
for _ in $(seq 1200); do
    [ -s swept/sweep.csv ] && break
    sleep 0.2
done
cmp alone/sweep.csv swept/sweep.csv || { squeue >&2; tail -n 3 swept/slurm/*.log "$work"/*.log >&2; exit 1; }
echo "Slurm: $((2 * slices)) runs in $slices slices, one of two nodes killed; the table equals that of a sweep without Slurm"
