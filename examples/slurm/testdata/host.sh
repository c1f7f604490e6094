# Acts as one of two hosts of a cluster: sh host.sh DIR. The first host runs Slurm's controller
# and the job. DIR/out holds the output of the job.
set -e
dir=$1 host=$SCHEDGEN_RANK
unset SCHEDGEN_RANK SCHEDGEN_SIZE
cd "$dir"
export SLURM_CONF="$dir/slurm.conf"
mount --bind hosts /etc/hosts
hostname "node$host"
slurmd -D -N "node$host" >"slurmd$host.out" 2>&1 &
daemons=$!
trap 'kill $daemons; wait $daemons || true' EXIT
if [ "$host" != 0 ]; then
  read -r _ <end # wait for the first host
  exit
fi
slurmctld -D >slurmctld.out 2>&1 &
daemons="$daemons $!"
trap 'echo end >end; kill $daemons; wait $daemons || true' EXIT
until sinfo -h -o "%T %D" 2>/dev/null | grep -q "idle 2"; do sleep 0.1; done
timeout 60 sbatch --wait --output=out hello.sbatch
