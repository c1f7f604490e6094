package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

// with returns e with more added, where <R> and <N> stand for rank and size.
func (e env) with(more env, rank, size int) env {
	all := maps.Clone(e)
	maps.Copy(all, more)
	for k, v := range all {
		all[k] = strings.NewReplacer("<R>", strconv.Itoa(rank), "<N>", strconv.Itoa(size)).Replace(v)
	}
	return all
}

// outcome is the result of a rank.
type outcome struct {
	t   wire.Transport
	err error
}

// patience limits a test that hangs.
const patience = 10 * time.Minute

// connectAll connects size ranks, each with e.
func connectAll(t *testing.T, size int, e func(rank int) env) []outcome {
	return connectIn(t, t.TempDir(), size, e)
}

// connectIn does so with a given directory for temporary files.
func connectIn(t *testing.T, dir string, size int, e func(rank int) env) []outcome {
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make([]outcome, size)
	var wg sync.WaitGroup
	for rank := range got {
		wg.Go(func() {
			got[rank].t, got[rank].err = Connect(ctx, e(rank).get, nil, nil)
			if got[rank].err != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return got
}

// requireConnected requires that every rank has its position, and closes all.
func requireConnected(t *testing.T, got []outcome) {
	t.Helper()
	for rank, o := range got {
		require.NoError(t, o.err, "rank %d", rank)
		require.Equal(t, rank, o.t.Rank())
		require.Equal(t, len(got), o.t.Size())
		require.Equal(t, got[0].t.ID(), o.t.ID(), "rank %d", rank)
	}
	for _, o := range got {
		require.NoError(t, o.t.Close(false, 0))
	}
}

var (
	openMPI  = env{"OMPI_COMM_WORLD_RANK": "<R>", "OMPI_COMM_WORLD_SIZE": "<N>", "OMPI_COMM_WORLD_LOCAL_SIZE": "<N>", "PMIX_NAMESPACE": "77"}
	openMPI4 = openMPI.and("OMPI_COMM_WORLD_LOCAL_SIZE", "1").and("OMPI_MCA_orte_hnp_uri", "76.0;tcp://192.0.2.7,198.51.100.7:9;tcp6://[fd00::7]:9").and("OMPI_MCA_orte_local_daemon_uri", "76.0;tcp://192.0.2.7:9")
	openMPI5 = openMPI.and("OMPI_COMM_WORLD_LOCAL_SIZE", "1").and("PMIX_NAMESPACE", "prterun-node-7-123@1").and("PMIX_SERVER_URI41", "prterun-node-7-123@0.0;tcp4://127.0.0.1:9")
	torch    = env{"RANK": "<R>", "WORLD_SIZE": "<N>", "LOCAL_WORLD_SIZE": "<N>", "MASTER_ADDR": "node0", "MASTER_PORT": "29500", "TORCHELASTIC_USE_AGENT_STORE": "True"}
	slurm    = env{"SLURM_PROCID": "<R>", "SLURM_STEP_NUM_TASKS": "<N>", "SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_ID": "8", "SLURM_STEP_ID": "0"}
	pod      = env{"JOB_COMPLETION_INDEX": "<R>", "SCHEDGEN_SIZE": "<N>", "HOSTNAME": "hello-<R>"}
	byHand   = env{"SCHEDGEN_RANK": "<R>", "SCHEDGEN_SIZE": "<N>"}
)

func TestConnect(t *testing.T) {
	for name, e := range map[string]env{"Open MPI": openMPI, "torchrun": torch, "srun": slurm} {
		for _, transport := range []string{"", "tcp", "mcast", "hybrid"} {
			for _, size := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, transport, size), func(t *testing.T) {
					requireConnected(t, connectAll(t, size, func(rank int) env {
						return e.with(env{"SCHEDGEN_TRANSPORT": transport}, rank, size)
					}))
				})
			}
		}
	}
}

// A job may meet again, and leftovers of a job that died do no harm.
func TestConnectAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	p, err := Find(slurm.with(nil, 0, 3).get)
	require.NoError(t, err)
	path, err := socketOf(p.job("SLURM_JOB_ID", "SLURM_STEP_ID"))
	require.NoError(t, err)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	for range 3 {
		got := connectIn(t, dir, 3, func(rank int) env { return slurm.with(nil, rank, 3) })
		requireConnected(t, got)
	}
}

func TestConnectByHand(t *testing.T) {
	addr := porttest.Hold(t)
	for _, transport := range []string{"", "mcast"} {
		requireConnected(t, connectAll(t, 3, func(rank int) env {
			return byHand.with(env{"SCHEDGEN_COORDINATOR": addr, "SCHEDGEN_TRANSPORT": transport}, rank, 3)
		}))
	}
}

// The variables of torch.distributed's env:// on one host: no variable gives the number of hosts. A
// loopback address is then as good as any other.
func TestConnectByTorchEnvironment(t *testing.T) {
	for _, host := range []string{"localhost", "127.0.0.1"} {
		_, port, err := net.SplitHostPort(porttest.Hold(t))
		require.NoError(t, err)
		requireConnected(t, connectAll(t, 3, func(rank int) env {
			return env{"RANK": "<R>", "WORLD_SIZE": "<N>", "MASTER_ADDR": host, "MASTER_PORT": port}.with(nil, rank, 3)
		}))
	}
}

// Rank 0 listens only at the requested address.
func TestRankZeroListensWhereItWasAsked(t *testing.T) {
	for name, e := range map[string]env{
		"torch":   {"RANK": "<R>", "WORLD_SIZE": "<N>", "MASTER_ADDR": "127.0.0.1"},
		"by hand": byHand,
	} {
		t.Run(name, func(t *testing.T) {
			addr := porttest.Hold(t)
			_, port, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			at := env{"MASTER_PORT": port}
			if !e.set("MASTER_ADDR") {
				at = env{"SCHEDGEN_COORDINATOR": addr}
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := Connect(ctx, e.with(at, 0, 2).get, nil, nil)
				done <- err
			}()
			require.Eventually(t, func() bool { return reaches(addr) }, patience, time.Millisecond)
			// All of 127/8 are addresses of this host.
			require.False(t, reaches(net.JoinHostPort("127.0.0.2", port)), "it listens at addresses that nobody has asked for")
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		})
	}
}

func reaches(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// A program without a launcher is a rank alone.
func TestConnectAlone(t *testing.T) {
	for _, transport := range []string{"", "tcp", "mcast", "shm", "hybrid"} {
		requireConnected(t, connectAll(t, 1, func(int) env { return env{"SCHEDGEN_TRANSPORT": transport} }))
	}
}

func TestConnectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		env  env
		want string
	}{
		"by hand, nowhere":      {byHand, "set SCHEDGEN_COORDINATOR"},
		"Kubernetes, nowhere":   {pod, "set SCHEDGEN_COORDINATOR to JOB-0.SERVICE:PORT"},
		"Kubernetes, no port":   {pod.and("SCHEDGEN_COORDINATOR", "hello-0.hello"), `SCHEDGEN_COORDINATOR is "hello-0.hello", want HOST:PORT with a port from 1 to 65535`},
		"Open MPI, two hosts":   {openMPI.and("OMPI_COMM_WORLD_LOCAL_SIZE", "1"), "OMPI_MCA_orte_hnp_uri is empty, and PMIX_NAMESPACE, \"77\", does not tell mpirun's host"},
		"Open MPI, rank 0 away": {openMPI4.and("OMPI_MCA_orte_local_daemon_uri", "76.1;tcp://10.0.0.8:9").and("PMIX_HOSTNAME", "node8"), "start them by mpirun -x SCHEDGEN_COORDINATOR=node8:" + strconv.Itoa(portOf("77"))},
		"Open MPI 5, away":      {openMPI5.and("PMIX_SERVER_URI41", "prterun-node-7-123@0.1;tcp4://127.0.0.1:9").and("PMIX_HOSTNAME", "node-8"), "start them by mpirun -x SCHEDGEN_COORDINATOR=node-8:"},
		"Open MPI 5, no server": {openMPI5.and("PMIX_SERVER_URI41", ""), "rank 0 is on another host than mpirun"},
		"Open MPI, no contact":  {openMPI4.and("OMPI_MCA_orte_hnp_uri", "76.0"), `OMPI_MCA_orte_hnp_uri is "76.0", which has no address`},
		"Open MPI, bad contact": {openMPI4.and("OMPI_MCA_orte_hnp_uri", "76.0;tcp://node7:9"), `"node7" is no address`},
		"Open MPI, no name":     {openMPI.and("PMIX_NAMESPACE", ""), "PMIX_NAMESPACE"},
		"MPICH, no manager":     {env{"PMI_RANK": "<R>", "PMI_SIZE": "<N>"}, "PMI_FD"},
		"MPICH, no descriptor":  {env{"PMI_RANK": "<R>", "PMI_SIZE": "<N>", "PMI_FD": "99999"}, "PMI_FD"},
		"torchrun, no address":  {torch.and("MASTER_ADDR", ""), "MASTER_ADDR"},
		"torchrun, no port":     {torch.and("MASTER_PORT", "x").and("LOCAL_WORLD_SIZE", "1").and("TORCHELASTIC_USE_AGENT_STORE", ""), "MASTER_PORT"},
		"srun, no hosts":        {slurm.and("SLURM_STEP_NUM_NODES", "2"), "SLURM_STEP_NODELIST"},
		"srun, wrong ports":     {slurm.and("SLURM_STEP_NUM_NODES", "2").and("SLURM_STEP_NODELIST", "a[1-2]").and("SLURM_STEP_RESV_PORTS", "x"), "SLURM_STEP_RESV_PORTS"},
		"no such transport":     {slurm.and("SCHEDGEN_TRANSPORT", "pigeon"), `SCHEDGEN_TRANSPORT is "pigeon"`},
		"long name of a job":    {slurm.and("SCHEDGEN_JOB", strings.Repeat("x", 300)), "SCHEDGEN_JOB has 300 bytes, at most 256"},
		"interface without use": {slurm.and("SCHEDGEN_TRANSPORT", "tcp").and("SCHEDGEN_INTERFACE", "lo"), "SCHEDGEN_INTERFACE"},
		"device without use":    {slurm.and("SCHEDGEN_TRANSPORT", "mcast").and("SCHEDGEN_DEVICE", "rxe0"), "SCHEDGEN_DEVICE is \"rxe0\", but mcast"},
		"interface for verbs":   {slurm.and("SCHEDGEN_TRANSPORT", "verbs").and("SCHEDGEN_INTERFACE", "lo"), "SCHEDGEN_INTERFACE is \"lo\", but verbs"},
		"contradiction":         {env{"RANK": "0", "WORLD_SIZE": "2", "PMI_RANK": "1", "PMI_SIZE": "2"}, "set SCHEDGEN_RANK"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Connect(t.Context(), c.env.with(nil, 0, 2).get, nil, nil)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// An address at which ranks can never meet is refused at once, at every rank and whatever the
// launcher. The error names the variable.
func TestCoordinatorsThatAreNoAddresses(t *testing.T) {
	for _, e := range []env{byHand, slurm, pod} {
		for _, at := range []string{"nonsense", "99999", "127.0.0.1:22x", "127.0.0.1:0", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:7777"} {
			for rank := range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err := Connect(ctx, e.with(env{"SCHEDGEN_COORDINATOR": at}, rank, 2).get, nil, nil)
				require.NoError(t, ctx.Err(), at)
				cancel()
				require.EqualError(t, err, fmt.Sprintf("rank %d of 2: SCHEDGEN_COORDINATOR is %q, want HOST:PORT with a port from 1 to 65535", rank, at))
			}
		}
	}
	// No other rank must find a rank alone.
	requireConnected(t, connectAll(t, 1, func(int) env { return byHand.with(env{"SCHEDGEN_COORDINATOR": "127.0.0.1:0"}, 0, 1) }))
}

// A rank 0 that cannot listen at the address names the variable.
func TestCoordinatorOfAnotherHost(t *testing.T) {
	const at = "192.0.2.77:4000"
	for _, transport := range []string{"tcp", "hybrid"} {
		_, err := Connect(t.Context(), byHand.with(env{"SCHEDGEN_COORDINATOR": at, "SCHEDGEN_TRANSPORT": transport}, 0, 2).get, nil, nil)
		require.ErrorIs(t, err, unix.EADDRNOTAVAIL)
		require.ErrorContains(t, err, `rank 0 of 2: SCHEDGEN_COORDINATOR is "192.0.2.77:4000": `)
	}
}

func (e env) set(name string) bool { return e[name] != "" }

// and returns e with one more variable.
func (e env) and(name, value string) env {
	all := maps.Clone(e)
	all[name] = value
	return all
}

// TestMeetOnSeveralHosts finds where ranks of several hosts meet, without connecting.
func TestMeetOnSeveralHosts(t *testing.T) {
	for name, c := range map[string]struct {
		env  env
		want string
	}{
		"srun, reserved port": {slurm.and("SLURM_STEP_NUM_NODES", "2").and("SLURM_STEP_NODELIST", "192.0.2.[7-8]").and("SLURM_STEP_RESV_PORTS", "28901-28904"), "192.0.2.7:28901"},
		"srun": {slurm.and("SLURM_STEP_NUM_NODES", "2").and("SLURM_JOB_NODELIST", "192.0.2.[7-8]"),
			"192.0.2.7:" + strconv.Itoa(portOf("SLURM_JOB_ID=8 SLURM_STEP_ID=0"))},
		"Open MPI 4":           {openMPI4, "[192.0.2.7,198.51.100.7,fd00::7]:" + strconv.Itoa(portOf("77"))},
		"Open MPI 5":           {openMPI5, "node-7:" + strconv.Itoa(portOf("prterun-node-7-123@1"))},
		"torchrun, port free":  {torch.and("LOCAL_WORLD_SIZE", "1").and("TORCHELASTIC_USE_AGENT_STORE", "False").and("MASTER_ADDR", "192.0.2.7").and("MASTER_PORT", "28905"), "192.0.2.7:28905"},
		"torchrun, port taken": {torch.and("LOCAL_WORLD_SIZE", "1").and("MASTER_ADDR", "192.0.2.7"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var at [2]string
			for rank := range at {
				p, err := Find(c.env.with(nil, rank, 2).get)
				require.NoError(t, err)
				m, err := p.Meet(t.Context())
				require.NoError(t, err)
				at[rank] = m.Coordinator
				require.Equal(t, rank == 0 && !c.env.set("MASTER_ADDR"), m.Listener != nil, "where somebody has said where, it listens there only")
				if m.Listener != nil {
					require.NoError(t, m.Listener.Close())
				}
			}
			require.Equal(t, at[0], at[1])
			require.NotEqual(t, "192.0.2.7:29500", at[0], "torchrun's store listens there")
			if c.want != "" {
				require.Equal(t, c.want, at[0])
			}
		})
	}
}

// A host name that leads nowhere from other hosts is an error at once, if the variables say that
// there are several hosts. The error contains the name.
func TestConnectRefusesLoopbackNames(t *testing.T) {
	for name, e := range map[string]env{
		"torchrun": torch.and("LOCAL_WORLD_SIZE", "1").and("MASTER_ADDR", "localhost"),
		"srun":     slurm.and("SLURM_STEP_NUM_NODES", "2").and("SLURM_STEP_NODELIST", "localhost,node1"),
		"Open MPI": openMPI.and("OMPI_COMM_WORLD_LOCAL_SIZE", "1").and("SCHEDGEN_COORDINATOR", "localhost:7777"),
	} {
		_, err := Connect(t.Context(), e.with(nil, 1, 2).get, nil, nil)
		require.ErrorContains(t, err, "localhost is ", name)
		require.ErrorContains(t, err, "on this host, which the ranks of other hosts cannot reach", name)
	}
}

// Strangers at the socket do no harm.
func TestMeetLocalStrangers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := Position{Rank: 0, Size: 3}
	path, err := socketOf("job")
	require.NoError(t, err)
	l, err := listenLoopback(t.Context())
	require.NoError(t, err)
	a, err := announce(&p, path, l)
	require.NoError(t, err)
	says := func(line string) string {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprint(conn, line)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.UnixConn).CloseWrite())
		addr, _ := bufio.NewReader(conn).ReadString('\n') // a stranger gets none
		return addr
	}
	require.Empty(t, says(""))
	require.Empty(t, says("rank one\n"))
	require.Empty(t, says(strings.Repeat("x", 1000)))
	for _, rank := range []string{"rank 7\n", "rank 0\n", "rank 2\n", "rank 2\n", "rank 1\n"} {
		require.Equal(t, l.Addr().String()+"\n", says(rank))
	}
	require.Eventually(t, func() bool { _, err := os.Stat(path); return os.IsNotExist(err) }, patience, time.Millisecond)
	require.NoError(t, a.Close())
	_, err = a.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// A rank with another size is an error at all ranks of a host.
func TestSizesThatDifferOnOneHost(t *testing.T) {
	got := connectAll(t, 2, func(rank int) env {
		return slurm.with(env{"SCHEDGEN_TRANSPORT": "tcp"}, rank, 2+rank)
	})
	for rank, o := range got {
		require.ErrorContains(t, o.err, "was told that there are 3 ranks, rank 0 that there are 2", "rank %d", rank)
	}
}

// A rank with another transport is an error at all ranks, which names both.
func TestTransportsThatDiffer(t *testing.T) {
	for _, c := range []struct{ rank0, rank1, want string }{
		{"tcp", "hybrid", "uses the transport hybrid, rank 0 the transport tcp"},
		{"auto", "tcp", "uses the transport tcp, rank 0 the transport hybrid"},
		{"tcp", "mcast", "uses the transport mcast, rank 0 the transport tcp"},
		{"mcast", "shm", "uses the transport hybrid, rank 0 the transport mcast"},
		{"hybrid", "hybrid on lo", "uses the transport hybrid with multicast, rank 0 the transport hybrid"},
		{"mcast on lo", "hybrid on lo", "uses the transport hybrid with multicast, rank 0 the transport mcast"},
	} {
		t.Run(c.rank0+" and "+c.rank1, func(t *testing.T) {
			got := connectAll(t, 2, func(rank int) env {
				name, iface, _ := strings.Cut([]string{c.rank0, c.rank1}[rank], " on ")
				return slurm.with(env{"SCHEDGEN_TRANSPORT": name, "SCHEDGEN_INTERFACE": iface}, rank, 2)
			})
			for rank, o := range got {
				require.ErrorContains(t, o.err, "rank 1 at ", "rank %d", rank)
				require.ErrorContains(t, o.err, c.want+": all ranks need the same (see SCHEDGEN_TRANSPORT and SCHEDGEN_INTERFACE)", "rank %d", rank)
			}
		})
	}
}

// After two seconds a rank says that rank 0 has not come to this host.
func TestWaitingForTheAddressIsTold(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var m clock.Manual
	told := make(lines, 1)
	done := make(chan error, 1)
	go func() {
		_, err := Connect(ctx, slurm.with(nil, 1, 3).get, &m, slog.New(slog.NewTextHandler(told, nil)))
		done <- err
	}()
	for len(told) == 0 {
		m.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond) // the system answers in its own time
	}
	said := <-told
	require.Contains(t, said, "rank 1 of 3 waits: rank 0 has not come to this host: dial unix ")
	require.Contains(t, said, "no such file or directory")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// lines takes written lines while there is room.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// deadline is a context whose deadline comes when the test says so.
type deadline struct {
	context.Context
	over chan struct{}
}

func (d *deadline) Done() <-chan struct{} { return d.over }

func (d *deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestAbsentRankIsNamedOnOneHost(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx := &deadline{t.Context(), make(chan struct{})}
	var m clock.Manual
	told := make(lines, 1)
	var errs [2]error
	var wg sync.WaitGroup
	for rank := range errs {
		e := slurm.with(nil, rank, 3).and("SCHEDGEN_TRANSPORT", "tcp")
		log := []*slog.Logger{slog.New(slog.NewTextHandler(told, nil)), nil}[rank]
		wg.Go(func() { _, errs[rank] = Connect(ctx, e.get, &m, log) })
	}
	for said := ""; !strings.Contains(said, "rank 2 has not come"); { // until rank 1 has
		m.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond) // the system answers in its own time
		select {
		case said = <-told:
			t.Log(said)
		default:
		}
	}
	close(ctx.over)
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(time.Millisecond):
			m.Advance(10 * time.Millisecond) // ranks still tell each other
		}
	}
	for rank, err := range errs {
		require.ErrorContains(t, err, "rank 2 has not come", "rank %d", rank)
		require.ErrorContains(t, err, context.DeadlineExceeded.Error(), "rank %d", rank)
	}
}

// A rank of another job at the same address gets an error and delays no rank.
func TestConnectTurnsOtherJobsAway(t *testing.T) {
	at := env{"SCHEDGEN_COORDINATOR": porttest.Hold(t), "SCHEDGEN_TRANSPORT": "tcp", "SCHEDGEN_JOB": "night"}
	var other error
	got := connectAll(t, 3, func(rank int) env {
		if rank == 2 { // while the meeting cannot end
			_, other = Connect(t.Context(), byHand.with(at, 1, 3).and("SCHEDGEN_JOB", "day").get, nil, nil)
		}
		return byHand.with(at, rank, 3)
	})
	require.ErrorContains(t, other, `rank 1 is of job "day", rank 0 of job "night"`)
	requireConnected(t, got)
}

// A directory that others can enter is not used.
func TestSocketDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := socketOf("job")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(fmt.Sprintf("%s/schedgen-%d", dir, os.Getuid()), 0o755))
	_, err = socketOf("job")
	require.ErrorContains(t, err, "only this user")
}

// manager is a process manager that speaks PMI-1 with size ranks.
type manager struct {
	mu     sync.Mutex
	values map[string]string
	inside int
	all    chan struct{} // closed when all are in the barrier
	size   int
}

func (m *manager) serve(conn net.Conn) error {
	in := bufio.NewScanner(conn)
	for in.Scan() {
		answer, err := m.answer(in.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return err
		}
	}
	return in.Err()
}

func (m *manager) answer(line string) (string, error) {
	words := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(word, "=")
		words[k] = v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch words["cmd"] {
	case "init":
		return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", nil
	case "get_my_kvsname":
		return "cmd=my_kvsname kvsname=kvs_1", nil
	case "put":
		m.values[words["kvsname"]+words["key"]] = words["value"]
		return "cmd=put_result rc=0 msg=success", nil
	case "get":
		if v := m.values[words["kvsname"]+words["key"]]; v != "" {
			return "cmd=get_result rc=0 msg=success value=" + v, nil
		}
		return "cmd=get_result rc=-1 msg=key_not_found value=unknown", nil
	case "barrier_in":
		if m.inside++; m.inside == m.size {
			close(m.all)
		}
		m.mu.Unlock()
		<-m.all
		m.mu.Lock()
		return "cmd=barrier_out", nil
	case "finalize":
		return "cmd=finalize_ack", nil
	}
	return "", fmt.Errorf("no command %q", line)
}

// manage starts a manager and returns the descriptors of its ranks.
func manage(t *testing.T, size int) (fds []int) {
	m := &manager{values: map[string]string{}, all: make(chan struct{}), size: size}
	for range size {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		require.NoError(t, err)
		f := os.NewFile(uintptr(pair[0]), "manager")
		conn, err := net.FileConn(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		done := make(chan error, 1)
		go func() { done <- m.serve(conn) }()
		t.Cleanup(func() {
			require.NoError(t, unix.Close(pair[1]))
			require.NoError(t, <-done)
			require.NoError(t, conn.Close())
		})
		fds = append(fds, pair[1])
	}
	return fds
}

func TestConnectPMI(t *testing.T) {
	mpich := env{"PMI_RANK": "<R>", "PMI_SIZE": "<N>", "MPI_LOCALNRANKS": "<N>"}
	for _, size := range []int{2, 5} {
		fds := manage(t, size)
		requireConnected(t, connectAll(t, size, func(rank int) env {
			return mpich.with(env{"PMI_FD": strconv.Itoa(fds[rank])}, rank, size)
		}))
	}
	// On several hosts rank 0 has the name that the manager gives its host.
	fds := manage(t, 2)
	var at [2]MeetingPoint
	var errs [2]error
	var wg sync.WaitGroup
	for rank, fd := range fds {
		wg.Go(func() {
			e := env{"PMI_RANK": "<R>", "PMI_SIZE": "<N>", "MPI_LOCALNRANKS": "1", "PMI_FD": strconv.Itoa(fd), "MPIR_CVAR_CH3_INTERFACE_HOSTNAME": fmt.Sprintf("192.0.2.%d", 7+rank)}
			p, err := Find(e.with(nil, rank, 2).get)
			if err == nil {
				at[rank], err = p.Meet(t.Context())
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	_, port, err := net.SplitHostPort(at[0].Listener.Addr().String())
	require.NoError(t, err)
	require.Equal(t, "192.0.2.7:"+port, at[1].Coordinator)
	require.NoError(t, at[0].Listener.Close())
}

// A manager that answers nonsense, or dies, gives an error that says so.
func TestPMIErrors(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                  "does not answer",
		"cmd=response_to_init rc=-1\n":      `answers "cmd=response_to_init rc=-1"`,
		"what?\n":                           `answers "what?"`,
		strings.Repeat("x", 2*maxAnswer):    "more than",
		"cmd=response_to_init rc=0\ncmd=\n": "get_my_kvsname",
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		require.NoError(t, err)
		_, err = unix.Write(pair[0], []byte(answer))
		require.NoError(t, err)
		require.NoError(t, unix.Shutdown(pair[0], unix.SHUT_WR))
		_, err = Connect(t.Context(), env{"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": strconv.Itoa(pair[1])}.get, nil, nil)
		require.ErrorContains(t, err, want)
		for _, fd := range pair {
			require.NoError(t, unix.Close(fd))
		}
	}
}

// A rank with a mistake in its own environment, or a fault of its own, tells the others, which do not
// wait for it.
func TestOneRankThatCannotConnect(t *testing.T) {
	for name, spoil := range map[string]func(e env) env{
		"transport": func(e env) env { return e.and("SCHEDGEN_TRANSPORT", "pigeon") },
		"interface": func(e env) env { return e.and("SCHEDGEN_TRANSPORT", "mcast").and("SCHEDGEN_INTERFACE", "nowhere") },
		"device":    func(e env) env { return e.and("SCHEDGEN_DEVICE", "rxe0") },
		"key":       func(e env) env { return e.and("SCHEDGEN_KEY_FILE", "/nowhere") },
		"told":      nil,
	} {
		for guilty, launcher := range map[int]env{0: slurm, 2: byHand} {
			t.Run(fmt.Sprint(name, guilty), func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir())
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				at, errs, noPaper := porttest.Hold(t), make([]error, 3), errors.New("no paper")
				var wg sync.WaitGroup
				for rank := range errs {
					e := launcher.with(env{"SCHEDGEN_COORDINATOR": at}, rank, len(errs))
					if launcher["SLURM_JOB_ID"] != "" {
						e = launcher.with(nil, rank, len(errs)) // the ranks of this host find each other
					}
					switch {
					case rank == guilty && spoil == nil:
						wg.Go(func() { Tell(ctx, e.get, nil, noPaper); errs[rank] = noPaper })
						continue
					case rank == guilty:
						e = spoil(e)
					}
					wg.Go(func() { _, errs[rank] = Connect(ctx, e.get, nil, nil) })
				}
				wg.Wait()
				require.NoError(t, ctx.Err())
				why := strings.TrimPrefix(errs[guilty].Error(), fmt.Sprintf("rank %d of 3: ", guilty))
				why = why[strings.LastIndex(why, ": ")+1:]
				for rank, err := range errs {
					require.ErrorContains(t, err, why, "rank %d", rank)
					if rank != guilty {
						require.ErrorContains(t, err, fmt.Sprintf("rank %d: ", guilty), "rank %d", rank)
					}
				}
			})
		}
	}
}
