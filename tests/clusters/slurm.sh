#!/usr/bin/env bash
# Runs a sweep on a Slurm of one machine, kills one of its processes in the middle, and compares the results with a local sweep.
# Needs root and Debian's slurm-wlm and munge. Usage: slurm.sh path/to/thalweg
set -euo pipefail
program=$(realpath "${1:?path of the program}")
# A machine that belongs to a cluster is left alone.
if [ -e /etc/slurm/slurm.conf ] || pgrep -x slurmctld || pgrep -x slurmd || pgrep -x munged; then
    echo "This machine has a Slurm already: run this on one without." >&2
    exit 2
fi
work=$(mktemp -d)
host=$(hostname -s)
cleanup() {
    for daemon in slurmctld slurmd munged; do
        pkill -x "$daemon"
        while pgrep -x "$daemon" > /dev/null; do sleep 0.2; done
    done
    rm -rf "$work" /etc/slurm/slurm.conf
}
trap 'cleanup || true' EXIT

install -d -o munge -g munge /run/munge /var/log/munge /var/lib/munge
[ -s /etc/munge/munge.key ] || create-munge-key
su -s /bin/bash munge -c munged
mkdir -p "$work/state" "$work/spool" /etc/slurm
cat > /etc/slurm/slurm.conf <<END
ClusterName=one
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmctldLogFile=$work/ctld.log
SlurmdLogFile=$work/d.log
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
slurmctld
sleep 2
slurmd
sleep 3
sinfo

cat > "$work/plan.ron" <<END
(
    input: "round-hill",
    size: 96,
    ticks: 120,
    enabled: ["droplets", "thermal"],
    vary: {
        "droplets.per_tick": Range(from: 200, to: 3200, count: 5, ratios: true),
        "droplets.entrainment": Range(from: 4, to: 12, count: 5),
        "seed": List(["1", "2"]),
    },
)
END
time "$program" sweep "$work/plan.ron" --out "$work/local"
"$program" sweep "$work/plan.ron" --out "$work/cluster" --emit slurm
began=$SECONDS
sbatch "$work/cluster/sweep.sbatch"
sleep 10
until victim=$(pgrep -f "sweep $work/cluster/plan.ron --out $work/cluster --only" | tail -1) && [ -n "$victim" ] \
    && [ "$(cat "/proc/$victim/comm" 2>/dev/null)" = "$(basename "$program" | cut -c1-15)" ] && kill -9 "$victim"; do sleep 0.05; done
echo "killed process $victim"
while [ -n "$(squeue -h)" ]; do sleep 1; done
echo "slurm: $((SECONDS - began)) s"
"$program" sweep --collect "$work/cluster"
hashes() { rev "$1/table.csv" | cut -d, -f1-3 | rev; }
cmp <(hashes "$work/local") <(hashes "$work/cluster")
echo "all $(($(wc -l < "$work/local/table.csv") - 1)) results are the same"
