package launch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// Meeting says where the ranks of a job meet.
type Meeting struct {
	Coordinator string                // host:port
	Doors       func(rank int) string // where a rank waits for others, if that is known; see tcp.Config
	Listener    net.Listener          // of a rank that others connect to; nil: it must listen at Coordinator or its door
	Apart       bool                  // the ranks are on several hosts
	Job         string                // the job's name, by which ranks of other jobs are turned away
}

// Config returns the configuration of a transport for this meeting.
func (m *Meeting) Config(p *Position) tcp.Config {
	return tcp.Config{Rank: p.Rank, Size: p.Size, Job: m.Job, Coordinator: m.Coordinator, Doors: m.Doors, Listener: m.Listener, Apart: m.Apart, Clock: p.Clock, Log: p.Log}
}

// meeting agrees on a Meeting with the other ranks.
type meeting func(ctx context.Context, p *Position) (Meeting, error)

// longAgo, as a deadline, ends a blocked read or write at once.
var longAgo = time.Unix(1, 0)

// Meet agrees with the other ranks of p's job on where to meet. It may wait for them, until ctx
// ends. The caller must close rank 0's Listener.
func (p *Position) Meet(ctx context.Context) (Meeting, error) {
	job := p.getenv("SCHEDGEN_JOB")
	if len(job) > tcp.MaxJob {
		return Meeting{}, fmt.Errorf("SCHEDGEN_JOB has %d bytes, at most %d are allowed", len(job), tcp.MaxJob)
	}
	m, err := p.meet(ctx)
	if job != "" {
		m.Job = job
	}
	return m, err
}

func (p *Position) meet(ctx context.Context) (Meeting, error) {
	if c := p.getenv("SCHEDGEN_COORDINATOR"); c != "" && p.launcher != nil && p.launcher.rank != indexOfJob {
		return Meeting{Coordinator: c, Apart: p.apart}, nil
	}
	if p.Size == 1 {
		return Meeting{Coordinator: "127.0.0.1:0"}, nil // no rank connects; it only chooses the interface
	}
	m, err := p.launcher.meet(ctx, p)
	if err != nil {
		return m, fmt.Errorf("find where the ranks meet (%s): %w", p.Source, err)
	}
	return m, nil
}

// advice is added to errors of ranks that do not know where rank 0 is.
const advice = "set SCHEDGEN_COORDINATOR to host:port, an address of rank 0's"

func meetUnknown(context.Context, *Position) (Meeting, error) { return Meeting{}, errors.New(advice) }

// meetFlux finds the meeting of tasks of flux run without PMI (-o pmi=off), which know only the
// job's number.
func meetFlux(ctx context.Context, p *Position) (Meeting, error) {
	return p.meetByJob(ctx, "FLUX_JOB_ID")
}

func meetPALS(ctx context.Context, p *Position) (Meeting, error) {
	return p.meetByJob(ctx, "PALS_APID")
}

// meetByJob finds the meeting for launchers that name the job but no host: ranks of one host meet
// by the job's name.
func (p *Position) meetByJob(ctx context.Context, name string) (Meeting, error) {
	if !p.together() || p.getenv(name) == "" {
		return meetUnknown(ctx, p)
	}
	return meetLocal(ctx, p, p.job(name))
}

// meetSlurm takes the first host of the step, where srun starts task 0.
func meetSlurm(ctx context.Context, p *Position) (Meeting, error) {
	step := p.job("SLURM_JOB_ID", "SLURM_STEP_ID")
	if p.together() {
		return meetLocal(ctx, p, step)
	}
	list := p.getenv("SLURM_STEP_NODELIST")
	if list == "" {
		list = p.getenv("SLURM_JOB_NODELIST")
	}
	host, err := firstHost(list)
	if err != nil {
		return Meeting{}, fmt.Errorf("SLURM_STEP_NODELIST or SLURM_JOB_NODELIST: %w; %s", err, advice)
	}
	port, err := firstPort(p.getenv("SLURM_STEP_RESV_PORTS"))
	if err != nil {
		return Meeting{}, fmt.Errorf("SLURM_STEP_RESV_PORTS: %w", err)
	}
	if port == 0 {
		port = portOf(step)
	}
	m, err := meetOn(ctx, p, host, port)
	m.Job = step // another step may use the same port
	return m, err
}

// meetTorch takes the variables of torchrun. If torchrun's agent runs a store, MASTER_PORT is in
// use: the store listens there as long as the job lives.
func meetTorch(ctx context.Context, p *Position) (Meeting, error) {
	job := p.job("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
	host := p.getenv("MASTER_ADDR")
	switch {
	case host == "":
		return Meeting{}, fmt.Errorf("MASTER_ADDR is empty; %s", advice)
	case p.together():
		return meetLocal(ctx, p, job)
	case p.getenv("TORCHELASTIC_USE_AGENT_STORE") == "True":
		return p.meetAt(host, portOf(job)), nil
	}
	port, err := strconv.ParseUint(p.getenv("MASTER_PORT"), 10, 16)
	if err != nil || port == 0 {
		return Meeting{}, fmt.Errorf("MASTER_PORT is %q, want a port; %s", p.getenv("MASTER_PORT"), advice)
	}
	return p.meetAt(host, int(port)), nil
}

// Ports that follow from a job's name are below the range that systems use for outgoing
// connections.
const (
	lowestPort = 20000
	ports      = 10000
)

func portOf(job string) int {
	f := fnv.New32a()
	f.Write([]byte(job))
	return lowestPort + int(f.Sum32()%ports)
}

// firstPort returns the first port of a list such as 12000-12003, or 0 if list is empty.
func firstPort(list string) (int, error) {
	if list == "" {
		return 0, nil
	}
	first, _, _ := strings.Cut(list, ",")
	first, _, _ = strings.Cut(first, "-")
	port, err := strconv.ParseUint(first, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%q does not begin with a port", list)
	}
	return int(port), nil
}

// meetAt returns the meeting at an address that a person has set: rank 0 listens there, and nowhere
// else.
func (p *Position) meetAt(host string, port int) Meeting {
	return Meeting{Coordinator: net.JoinHostPort(host, strconv.Itoa(port)), Apart: p.apart}
}

// meetOn returns the meeting on a host that the launcher names. The address is not known.
func meetOn(ctx context.Context, p *Position, host string, port int) (m Meeting, err error) {
	m = Meeting{Coordinator: net.JoinHostPort(host, strconv.Itoa(port)), Apart: p.apart}
	if p.Rank > 0 {
		return m, nil
	}
	m.Listener, err = p.listenOn(ctx, host, strconv.Itoa(port))
	if err != nil {
		return Meeting{}, fmt.Errorf("wait at %s: %w; %s", m.Coordinator, err, advice)
	}
	return m, nil
}

// lookUpTime limits the lookup of a name of this host.
const lookUpTime = 3 * time.Second

// listenOn listens at the address of this host that its name stands for. It listens at all
// addresses if other hosts may know the host by another address: the name is unknown here, it
// stands for the loopback interface, or host is a list of addresses.
func (p *Position) listenOn(ctx context.Context, host, port string) (net.Listener, error) {
	var lc net.ListenConfig
	asking, stop := clock.WithTimeoutCause(ctx, clock.OrSystem(p.Clock), lookUpTime, context.DeadlineExceeded)
	defer stop()
	ips, err := net.DefaultResolver.LookupNetIP(asking, "ip", host)
	for _, ip := range ips {
		if ip = ip.Unmap(); err == nil && !ip.IsLoopback() {
			if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port)); err == nil || errors.Is(err, syscall.EADDRINUSE) {
				return l, err
			}
		}
	}
	return lc.Listen(ctx, "tcp", ":"+port)
}
