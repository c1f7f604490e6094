package crew

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Plan is a job and what its ranks need.
type Plan struct {
	Job      Job          // of all ranks; starting a rank sets the fields that differ
	Outputs  []string     // file of each rank for the bytes that it receives; nil: none
	Input    *Input       // message of a broadcast, or nil
	Schedule *ir.Schedule // schedule that runs in place of an algorithm, or nil
	Hosts    int          // simulated hosts that the ranks run on; 0: this host
	Trace    *os.File     // file to which ranks append a trace, or nil
	Board    *Board       // receives the status of the ranks, or nil
	Stderr   io.Writer    // receives what processes print
	Log      func(format string, args ...any)

	Wrap func(wire.Transport) wire.Transport // for tests: wraps the transport of each rank over mem

	files inherited
}

// Open opens the files and sockets that the processes of the ranks inherit. From here on this
// process holds the coordinator's port. The plan must be closed. The error is an [InputError] if
// the coordinator's address cannot be used.
func (p *Plan) Open(ctx context.Context) (err error) {
	if p.Job.Link.Transport == Mem {
		return nil
	}
	if p.Input != nil {
		p.files.input = p.Input.file
	}
	if p.Schedule != nil {
		if p.files.schedule, err = scheduleFile(p.Schedule); err != nil {
			return err
		}
	}
	if err := p.meet(ctx); err != nil {
		return err
	}
	if p.Job.Row().Synchronizes {
		p.files.counters, err = counterFile(p.Job.Params.Ranks)
	}
	return err
}

// meet creates the coordinator's socket, or the shared memory, through which the ranks meet.
func (p *Plan) meet(ctx context.Context) (err error) {
	l := &p.Job.Link
	if l.Transport == Shm {
		if p.files.segment, err = shm.Create(p.Job.Params.Ranks); err != nil {
			return fmt.Errorf("--transport=shm: %w", err)
		}
		return nil
	}
	l.Job = rand.Text()
	if p.Hosts > 0 {
		return nil // the coordinator is on the first of the simulated hosts
	}
	if p.files.listener, l.Coordinator, err = listen(ctx, l.Coordinator); err != nil {
		return err
	}
	p.Log("coordinator at %s", l.Coordinator)
	return nil
}

// listen opens the coordinator's socket and returns it with its address. From here on this process
// holds the port.
func listen(ctx context.Context, address string) (*os.File, string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, address, InputError{fmt.Errorf("--coordinator=%s: %w", address, err)}
	}
	defer l.Close() // the file keeps the socket open
	if err := loopbackUp(l.Addr()); err != nil {
		return nil, address, fmt.Errorf("--coordinator=%s: %w", address, err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, address, fmt.Errorf("--coordinator=%s: %w", address, err)
	}
	return f, l.Addr().String(), nil
}

// loopbackUp returns an error if a is a loopback address and the loopback interface is down.
func loopbackUp(a net.Addr) error {
	if at, ok := a.(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp == 0 {
			return fmt.Errorf("interface %s is down", i.Name)
		}
	}
	return nil
}

// Close closes the files that only the ranks need. The caller closes the input and the trace. Close
// may be called more than once.
func (p *Plan) Close() {
	for _, f := range []**os.File{&p.files.listener, &p.files.counters, &p.files.segment, &p.files.schedule} {
		if *f != nil {
			_ = (*f).Close() // nothing was written through it
			*f = nil
		}
	}
}

// Run starts the ranks, adds their reports to t, and returns when all have ended. It returns nil if
// all have done their work, an [*Error] if ranks have failed, and the error of ctx if that ends.
func (p *Plan) Run(ctx context.Context, t *Tally) error {
	c, err := p.start(ctx)
	if err != nil {
		return err
	}
	return oversee(ctx, c, t, p.Job.Timeout, p.Log)
}

func (p *Plan) start(ctx context.Context) (*running, error) {
	if p.Job.Link.Transport == Mem {
		return goroutines(ctx, p.jobs(), Resources{Input: p.Input, Schedule: p.Schedule, Trace: p.Trace}, p.Board, p.Wrap)
	}
	defer p.Close()
	p.files.trace = p.Trace
	return processes(p.jobs(), p.Hosts, p.files, p.Board, p.Stderr, p.Log)
}

// jobs returns the jobs of all ranks.
func (p *Plan) jobs() []*Job {
	jobs := make([]*Job, p.Job.Params.Ranks)
	for rank := range jobs {
		j := p.Job
		j.Rank = rank
		if p.Outputs != nil {
			j.Output = p.Outputs[rank]
		}
		jobs[rank] = &j
	}
	return jobs
}
