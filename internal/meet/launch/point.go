package launch

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// MeetingPoint says where the ranks of a job meet.
type MeetingPoint struct {
	Coordinator string       // host:port
	Listener    net.Listener // of rank 0; nil: it must listen at Coordinator
	Apart       bool         // the ranks are on several hosts
	Job         string       // the job's name, by which ranks of other jobs are turned away
}

// Config returns the configuration of a transport whose ranks meet here.
func (m *MeetingPoint) Config(p *Position) tcp.Config {
	return tcp.Config{Rank: p.Rank, Size: p.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener, Apart: m.Apart, Clock: p.Clock, Log: p.Log}
}

// longAgo, as a deadline, ends a blocked read or write at once.
var longAgo = time.Unix(1, 0)

// Meet agrees with the other ranks of p's job on where to meet. It may wait for them, until ctx
// ends. The caller must close rank 0's Listener.
func (p *Position) Meet(ctx context.Context) (MeetingPoint, error) {
	job := p.getenv("SCHEDGEN_JOB")
	if len(job) > tcp.MaxJob {
		return MeetingPoint{}, fmt.Errorf("SCHEDGEN_JOB has %d bytes, at most %d are allowed", len(job), tcp.MaxJob)
	}
	m, err := p.meet(ctx)
	if job != "" {
		m.Job = job
	}
	return m, err
}

func (p *Position) meet(ctx context.Context) (MeetingPoint, error) {
	c := p.getenv("SCHEDGEN_COORDINATOR")
	if err := p.checkCoordinator(c); err != nil {
		return MeetingPoint{}, err
	}
	if c != "" && p.launcher != nil && p.launcher.rank != indexOfJob {
		return MeetingPoint{Coordinator: c, Apart: p.apart}, nil
	}
	if p.Size == 1 {
		return MeetingPoint{Coordinator: "127.0.0.1:0"}, nil // no rank connects; it only chooses the interface
	}
	m, err := p.launcher.meet(ctx, p)
	if err != nil {
		return m, fmt.Errorf("find where the ranks meet (%s): %w", p.Source, err)
	}
	return m, nil
}

// checkCoordinator checks the value of SCHEDGEN_COORDINATOR, which may be empty. A rank alone may
// have port 0: no other rank must find it.
func (p *Position) checkCoordinator(value string) error {
	if value == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	if err == nil && (portNumber(port) > 0 || port == "0" && p.Size == 1) {
		return nil
	}
	return fmt.Errorf("SCHEDGEN_COORDINATOR is %q, want HOST:PORT with a port from 1 to 65535", value)
}

// portNumber returns the number of a port, or 0 if text is no number from 1 to 65535.
func portNumber(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// advice is added to errors of ranks that do not know where rank 0 is.
const advice = "set SCHEDGEN_COORDINATOR to host:port, an address of rank 0's"

func meetUnknown(context.Context, *Position) (MeetingPoint, error) {
	return MeetingPoint{}, errors.New(advice)
}

// meetByJob returns how ranks meet if a launcher names the job, in a variable, and no host: ranks
// of one host meet by the job's name.
func meetByJob(name string) func(context.Context, *Position) (MeetingPoint, error) {
	return func(ctx context.Context, p *Position) (MeetingPoint, error) {
		if !p.together() || p.getenv(name) == "" {
			return meetUnknown(ctx, p)
		}
		return meetLocal(ctx, p, p.job(name))
	}
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

// meetAt returns the meeting point at an address that a person has set: rank 0 listens there, and
// nowhere else.
func (p *Position) meetAt(host string, port int) MeetingPoint {
	return MeetingPoint{Coordinator: net.JoinHostPort(host, strconv.Itoa(port)), Apart: p.apart}
}

// meetOn returns the meeting point on a host that the launcher names. The address is not known.
func meetOn(ctx context.Context, p *Position, host string, port int) (m MeetingPoint, err error) {
	m = MeetingPoint{Coordinator: net.JoinHostPort(host, strconv.Itoa(port)), Apart: p.apart}
	if p.Rank > 0 {
		return m, nil
	}
	m.Listener, err = p.listenOn(ctx, host, strconv.Itoa(port))
	if err != nil {
		return MeetingPoint{}, fmt.Errorf("wait at %s: %w; %s", m.Coordinator, err, advice)
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
