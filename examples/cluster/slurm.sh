#!/bin/bash
# One run over the machines of a SLURM job: a Ray head on the first, a worker on each other.
#     sbatch examples/cluster/slurm.sh SCENARIO [further options of netsim run]
# A job that is cut off goes on with the same command: netsim resume takes an unfinished folder.
#SBATCH --job-name=netsim
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
##SBATCH --gpus-per-task=1        # with device = "cuda" each actor takes one GPU
set -euo pipefail

scenario=${1:?usage: sbatch slurm.sh SCENARIO [OPTIONS]}
shift
run=runs/$(basename "${scenario%.toml}")-${NETSIM_RUN:-slurm}
port=6379
mapfile -t machines < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${machines[0]}
address=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}'):$port

# The event loop has a core of its own on the head, so that actors leave it alone.
srun --nodes=1 --ntasks=1 -w "$head" --overlap \
    ray start --head --node-ip-address="${address%:*}" --port=$port --block \
    --num-cpus=$((SLURM_CPUS_PER_TASK - 1)) --disable-usage-stats &
for machine in "${machines[@]:1}"; do
    srun --nodes=1 --ntasks=1 -w "$machine" --overlap \
        ray start --address="$address" --block --num-cpus="$SLURM_CPUS_PER_TASK" &
done
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

for _ in $(seq 60); do # until all machines are there
    there=$(RAY_ADDRESS=$address python -c \
        'import ray; ray.init(logging_level="ERROR"); print(sum(n["Alive"] for n in ray.nodes()))' \
        2>/dev/null || echo 0)
    [ "$there" -ge "${#machines[@]}" ] && break
    sleep 5
done

if [ -d "$run" ]; then
    netsim resume "$run" --address "$address"
else
    netsim run "$scenario" --out "$run" --engine ray --address "$address" "$@"
fi
