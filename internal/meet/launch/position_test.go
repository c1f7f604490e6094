package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// env is an environment.
type env map[string]string

func (e env) get(name string) string { return e[name] }

var ownPosition = Position{Rank: 1, Size: 4, Source: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}

// positions are environments and the positions that they give.
var positions = map[string]struct {
	env  env
	want Position
}{
	"own":      {env{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4"}, ownPosition},
	"own wins": {env{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4", "PMI_RANK": "0", "PMI_SIZE": "2"}, ownPosition},
	"Open MPI": {env{"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "2"},
		Position{Rank: 2, Size: 4, Local: 2, Source: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
	"MPICH": {env{"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"},
		Position{Rank: 2, Size: 4, Local: 4, Source: "PMI_RANK and PMI_SIZE"}},
	"srun": {env{"SLURM_PROCID": "7", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_NODES": "2"},
		Position{Rank: 7, Size: 8, Source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS"}},
	"srun, one host": {env{"SLURM_PROCID": "7", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_NUM_NODES": "1"},
		Position{Rank: 7, Size: 8, Local: 8, Source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS"}},
	"srun --mpi=pmi2": {env{"SLURM_PROCID": "7", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_NUM_NODES": "1", "PMI_RANK": "7", "PMI_SIZE": "8", "PMI_FD": "5"},
		Position{Rank: 7, Size: 8, Local: 8, Source: "PMI_RANK and PMI_SIZE"}},
	"mpirun in a batch script": {env{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"},
		Position{Rank: 3, Size: 8, Source: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
	"torchrun under srun": {env{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "RANK": "5", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"},
		Position{Rank: 5, Size: 8, Local: 4, Source: "RANK and WORLD_SIZE"}},
	"srun --mpi=pmix": {env{"SLURM_PROCID": "7", "SLURM_STEP_NUM_TASKS": "8", "PMIX_RANK": "7"},
		Position{Rank: 7, Size: 8, Source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS"}},
	"torchrun under srun --mpi=pmix": {env{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "1", "RANK": "5", "WORLD_SIZE": "8"},
		Position{Rank: 5, Size: 8, Source: "RANK and WORLD_SIZE"}},
	"mpirun under srun": {env{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "5", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8"},
		Position{Rank: 5, Size: 8, Source: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
	"Kubernetes": {env{"JOB_COMPLETION_INDEX": "2", "SCHEDGEN_SIZE": "4", "HOSTNAME": "hello-2"},
		Position{Rank: 2, Size: 4, Source: "JOB_COMPLETION_INDEX and SCHEDGEN_SIZE"}},
	"torchrun in Kubernetes": {env{"JOB_COMPLETION_INDEX": "1", "RANK": "5", "WORLD_SIZE": "8"},
		Position{Rank: 5, Size: 8, Source: "RANK and WORLD_SIZE"}},
	"srun, fewer variables": {env{"SLURM_PROCID": "2", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"},
		Position{Rank: 2, Size: 4, Source: "SLURM_PROCID and SLURM_NTASKS"}},
	"srun, rank 0": {env{"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"},
		Position{Rank: 0, Size: 4, Source: "SLURM_PROCID and SLURM_NTASKS"}},
	"srun, no step": {env{"SLURM_PROCID": "2", "SLURM_NTASKS": "4"},
		Position{Rank: 2, Size: 4, Source: "SLURM_PROCID and SLURM_NTASKS"}},
	"an interactive step": {env{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_ID": "4294967290"},
		Position{Rank: 0, Size: 1, Source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS"}},
	"MVAPICH": {env{"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_LOCAL_SIZE": "2", "PMI_ID": "2"},
		Position{Rank: 2, Size: 4, Local: 2, Source: "MV2_COMM_WORLD_RANK and MV2_COMM_WORLD_SIZE"}},
	"PALS": {env{"PALS_RANKID": "2", "PALS_SIZE": "4", "PALS_LOCAL_SIZE": "4"},
		Position{Rank: 2, Size: 4, Local: 4, Source: "PALS_RANKID and PALS_SIZE"}},
	"PALS with Cray's PMI, which needs its library": {env{"PALS_RANKID": "2", "PALS_LOCAL_SIZE": "2", "PMI_RANK": "2", "PMI_SIZE": "4"},
		Position{Rank: 2, Size: 4, Local: 2, Source: "PALS_RANKID and PMI_SIZE"}},
	"Flux": {env{"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "4", "FLUX_JOB_NNODES": "1"},
		Position{Rank: 1, Size: 4, Local: 4, Source: "FLUX_TASK_RANK and FLUX_JOB_SIZE"}},
	"Flux with PMI": {env{"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "4", "FLUX_JOB_NNODES": "1", "PMI_FD": "3", "PMI_RANK": "1", "PMI_SIZE": "4"},
		Position{Rank: 1, Size: 4, Local: 4, Source: "PMI_RANK and PMI_SIZE"}},
	"mpirun in a task of Flux": {env{"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "1", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"},
		Position{Rank: 3, Size: 8, Source: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"}},
	"PMI without PMI_FD, in a step": {env{"PMI_RANK": "1", "PMI_SIZE": "4", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4"},
		Position{Rank: 1, Size: 4, Source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS"}},
	"own in Kubernetes": {env{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4", "JOB_COMPLETION_INDEX": "2"}, ownPosition},
}

func TestFind(t *testing.T) {
	for name, c := range positions {
		t.Run(name, func(t *testing.T) {
			got, err := Find(c.env.get)
			require.NoError(t, err)
			got.launcher, got.getenv, got.apart = nil, nil, false
			require.Equal(t, c.want, got)
		})
	}
}

// unclear are environments without a valid position, and the errors.
var unclear = map[string]struct {
	env  env
	want string
}{
	"half":          {env{"PMI_RANK": "1"}, `PMI_RANK is "1", but PMI_SIZE is not set`},
	"half of own":   {env{"SCHEDGEN_SIZE": "1"}, `SCHEDGEN_SIZE is "1", but SCHEDGEN_RANK is not set`},
	"no number":     {env{"PMI_RANK": "x", "PMI_SIZE": "2"}, "PMI_RANK"},
	"no size":       {env{"PMI_RANK": "0", "PMI_SIZE": "many"}, "PMI_SIZE"},
	"outside":       {env{"RANK": "2", "WORLD_SIZE": "2"}, "RANK is 2"},
	"negative":      {env{"RANK": "-1", "WORLD_SIZE": "2"}, "RANK is -1"},
	"none":          {env{"RANK": "0", "WORLD_SIZE": "0"}, "WORLD_SIZE is 0"},
	"more than all": {env{"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "3"}, "LOCAL_WORLD_SIZE is 3, but there are 2 ranks"},
	"contradicted":  {env{"PMI_RANK": "0", "PMI_SIZE": "2", "RANK": "1", "WORLD_SIZE": "2"}, "PMI_RANK and PMI_SIZE say rank 0 of 2"},
	"PMIx alone":    {env{"PMIX_RANK": "3"}, `PMIX_RANK is "3", but SCHEDGEN_RANK and SCHEDGEN_SIZE are not set`},
	"indexed job":   {env{"JOB_COMPLETION_INDEX": "0"}, `JOB_COMPLETION_INDEX is "0", but SCHEDGEN_SIZE is not set`},
	"PMIx, another": {env{"PMIX_RANK": "3", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, `OMPI_COMM_WORLD_RANK is "2" but PMIX_RANK is "3"`},
	"PMIx and srun": {env{"PMIX_RANK": "3", "SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}, `SLURM_PROCID is "2" but PMIX_RANK is "3"`},
	"two sizes":     {env{"JOB_COMPLETION_INDEX": "1", "SCHEDGEN_SIZE": "4", "RANK": "5", "WORLD_SIZE": "8"}, "RANK and WORLD_SIZE say rank 5 of 8, JOB_COMPLETION_INDEX and SCHEDGEN_SIZE say rank 1 of 4"},
	"index outside": {env{"JOB_COMPLETION_INDEX": "4", "SCHEDGEN_SIZE": "4"}, "JOB_COMPLETION_INDEX is 4, SCHEDGEN_SIZE is 4"},
	"coordinator":   {env{"SCHEDGEN_COORDINATOR": "a:1"}, `SCHEDGEN_COORDINATOR is "a:1", but SCHEDGEN_RANK and SCHEDGEN_SIZE are not set`},
	"no digits":     {env{"SCHEDGEN_RANK": "a", "SCHEDGEN_SIZE": "2"}, `SCHEDGEN_RANK is "a", want a number`},
	"older PMI":     {env{"PMI_ID": "3"}, `PMI_ID is "3", but SCHEDGEN_RANK and SCHEDGEN_SIZE are not set`},
	"half of PALS":  {env{"PALS_RANKID": "3"}, `PALS_RANKID is "3", but PALS_SIZE is not set`},
	"PALS, local":   {env{"PALS_LOCAL_SIZE": "3"}, `PALS_LOCAL_SIZE is "3", but PALS_RANKID and PALS_SIZE are not set`},
	"half of jsrun": {env{"JSM_NAMESPACE_RANK": "3"}, `JSM_NAMESPACE_RANK is "3", but JSM_NAMESPACE_SIZE is not set`},
	"aprun":         {env{"ALPS_APP_PE": "3"}, `ALPS_APP_PE is "3", but SCHEDGEN_RANK and SCHEDGEN_SIZE are not set`},
	"half of Flux":  {env{"FLUX_TASK_RANK": "3"}, `FLUX_TASK_RANK is "3", but FLUX_JOB_SIZE is not set`},
	"Flux, no rank": {env{"FLUX_JOB_SIZE": "4"}, `FLUX_JOB_SIZE is "4", but FLUX_TASK_RANK is not set`},
	"half of MV2":   {env{"MV2_COMM_WORLD_RANK": "3"}, `MV2_COMM_WORLD_RANK is "3", but MV2_COMM_WORLD_SIZE is not set`},
	"MV2, another":  {env{"MV2_COMM_WORLD_RANK": "3", "MV2_COMM_WORLD_SIZE": "4", "PMI_ID": "2"}, `MV2_COMM_WORLD_RANK is "3" but PMI_ID is "2"`},
	"half of srun":  {env{"SLURM_PROCID": "3"}, `SLURM_PROCID is "3", but SLURM_STEP_NUM_TASKS is not set`},
	"srun, rank 0":  {env{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, `SLURM_PROCID is "0", but SLURM_STEP_NUM_TASKS is not set`},
	"srun, no rank": {env{"SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"}, `SLURM_NTASKS is "4", but SLURM_PROCID is not set`},
	"srun, a step":  {env{"SLURM_STEP_ID": "0"}, `SLURM_STEP_ID is "0", but SLURM_PROCID and SLURM_STEP_NUM_TASKS are not set`},
	"half of torch": {env{"RANK": "1", "MASTER_ADDR": "a"}, `RANK is "1", but WORLD_SIZE is not set`},
	"torch, local":  {env{"LOCAL_WORLD_SIZE": "2"}, `LOCAL_WORLD_SIZE is "2", but RANK and WORLD_SIZE are not set`},
}

func TestFindRefuses(t *testing.T) {
	for name, c := range unclear {
		t.Run(name, func(t *testing.T) {
			_, err := Find(c.env.get)
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, ErrNone)
		})
	}
}

func TestFindFindsNothing(t *testing.T) {
	for name, e := range map[string]env{"nothing": nil, "a batch script": {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "9"},
		"a batch step": {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_ID": "4294967291"}} {
		_, err := Find(e.get)
		require.ErrorIs(t, err, ErrNone, name)
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"node1": "node1", "node1,node2": "node1", "node[01-03,7],login2": "node01", "node[7,01-03]": "node7",
		"rack[1-2]-n[1-4]": "rack1-n1", "n[12]x,a": "n12x", "a.b.org,c": "a.b.org", "[3-4]": "3", "192.0.2.[7-8]": "192.0.2.7",
	} {
		got, err := firstHost(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"", ",a", "a[1-2", "a]1", "a[]", "a[-2]", "a[x]", "a[1]]", "a[,1]", "a[[1]"} {
		_, err := firstHost(list)
		require.Error(t, err, list)
	}
}

func FuzzFirstHost(f *testing.F) {
	for _, list := range []string{"node[01-03,7],login2", "rack[1-2]-n[1-4]", "a[", "]"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if host, err := firstHost(list); err == nil && host == "" {
			t.Fatalf("%q: no host and no error", list)
		}
	})
}

func TestFirstPort(t *testing.T) {
	for list, want := range map[string]int{"": 0, "12000-12003": 12000, "12001,12005": 12001, "9": 9} {
		got, err := firstPort(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"-1", "x", "0", "65536", ","} {
		_, err := firstPort(list)
		require.Error(t, err, list)
	}
}
