package crew

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
)

// process is a rank in its own process, which is this program with a hidden verb. The process reads
// its job from standard input, which stays open as long as the parent lives. It sends reports
// through a separate pipe, so that other output cannot mix with them.
type process struct {
	rank    int
	cmd     *exec.Cmd
	job     io.WriteCloser
	reports *os.File
}

// inherited are the files that ranks inherit from their parent. A file that is not needed is nil.
type inherited struct {
	listener *os.File // for rank 0
	input    *os.File // for the root
	counters *os.File // for all
	segment  *os.File // for all
	trace    *os.File // for all
	schedule *os.File // for all
}

// processes starts ranks as processes. If hosts > 0, it starts them on that number of simulated
// hosts.
func processes(jobs []*Job, hosts int, files inherited, b *Board, stderr io.Writer, log func(string, ...any)) (*running, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the ranks: %w", err)
	}
	var all []*process
	ready, ended := make(chan error), make(chan struct{})
	go func() {
		// The system kills a child with Pdeathsig when the thread that started it ends, so keep
		// this thread.
		goruntime.LockOSThread()
		var net *network
		var err error
		if hosts > 0 {
			net, err = newNetwork(len(jobs), hosts) // the thread stays locked, so it ends with the goroutine
		} else {
			defer goruntime.UnlockOSThread()
		}
		if err == nil {
			all, err = startAll(exe, jobs, net, files, &prefixer{w: stderr}, log)
		}
		ready <- err
		<-ended
		_ = net.close() // nothing was written to it
	}()
	if err := <-ready; err != nil {
		close(ended)
		return nil, err
	}
	return follow(all, ended, b), nil
}

func startAll(exe string, jobs []*Job, net *network, files inherited, stderr *prefixer, log func(string, ...any)) ([]*process, error) {
	var all []*process
	for _, j := range jobs {
		var p *process
		err := net.enter(j.Rank)
		if err == nil {
			p, err = start(exe, j, files, stderr)
		}
		if err != nil {
			for _, p := range all {
				err = errors.Join(err, p.cmd.Process.Kill())
				_ = p.cmd.Wait() // its error only says that it was killed
			}
			return nil, fmt.Errorf("start rank %d: %w", j.Rank, err)
		}
		log("rank %d is process %d", j.Rank, p.cmd.Process.Pid)
		all = append(all, p)
	}
	return all, nil
}

// onePlace is a variable that limits a Go process to one running thread.
const onePlace = "GOMAXPROCS=1"

// environment returns the environment of a rank's process. If ranks share cores, it sets GOMAXPROCS
// to 1. With more, Go moves the rank's goroutine to another thread every 10 ms. That thread must be
// woken first, and then waits for its turn on the core. A value of GOMAXPROCS that the user has set
// stays.
func environment(own []string, ranks, cores int) []string {
	said := slices.ContainsFunc(own, func(v string) bool { return strings.HasPrefix(v, "GOMAXPROCS=") })
	if said || ranks <= cores {
		return own
	}
	return append(own, onePlace)
}

func start(exe string, j *Job, files inherited, stderr *prefixer) (*process, error) {
	cmd := exec.Command(exe, "run", "rank")
	cmd.Args[0] = os.Args[0] // the program may depend on the name by which it is called
	cmd.SysProcAttr = childAttributes()
	cmd.Stderr = stderr.writerFor(j.Rank)
	cmd.Stdout = cmd.Stderr
	cmd.WaitDelay = grace
	cmd.Env = environment(os.Environ(), j.Params.Ranks, goruntime.NumCPU())
	p := &process{rank: j.Rank, cmd: cmd}
	var reports *os.File
	var err error
	if p.reports, reports, err = os.Pipe(); err != nil {
		return nil, err
	}
	defer reports.Close() // the child has its own
	text, err := json.Marshal(handOut(cmd, *j, reports, files))
	if err == nil {
		p.job, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, p.reports.Close())
	}
	// The job fits into the pipe's buffer. If the rank has died already, the end of its reports
	// tells so.
	_, _ = p.job.Write(text)
	return p, nil
}

// handOut passes the files to the child and sets their descriptors in the job.
func handOut(cmd *exec.Cmd, j Job, reports *os.File, files inherited) *Job {
	give := func(f *os.File, fd *int) {
		if f != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
			*fd = 2 + len(cmd.ExtraFiles)
		}
	}
	give(reports, &j.ReportFD)
	if j.Rank == 0 {
		give(files.listener, &j.ListenerFD)
	}
	if j.Rank == j.Params.Root {
		give(files.input, &j.InputFD)
	}
	give(files.counters, &j.CountersFD)
	give(files.segment, &j.SegmentFD)
	give(files.trace, &j.TraceFD)
	give(files.schedule, &j.ScheduleFD)
	return &j
}

// follow returns the crew of started processes. It closes ended when all have ended.
func follow(all []*process, ended chan struct{}, b *Board) *running {
	c := &running{size: len(all), events: make(chan event)}
	b.open(func(rank int) { _, _ = all[rank].job.Write([]byte("{}\n")) }) // it may have ended already
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			err := p.follow(c.events, b)
			b.end(p.rank)
			c.events <- event{rank: p.rank, ended: true, err: err}
		})
	}
	go func() {
		wg.Wait()
		close(ended)
	}()
	c.stop = func() {
		for _, p := range all {
			_ = p.job.Close() // it may have ended already
		}
	}
	c.stopped = func(rank int) bool { return isStopped(all[rank].cmd.Process.Pid) }
	c.kill = func() {
		for _, p := range all {
			_ = p.cmd.Process.Kill() // it may have ended already
		}
	}
	return c
}

// follow passes on the reports of a process, and returns the error of its end.
func (p *process) follow(events chan<- event, b *Board) error {
	dec := json.NewDecoder(p.reports)
	for {
		var r report
		if err := dec.Decode(&r); err != nil { // the end, perhaps in the middle of a report
			_ = p.reports.Close() // a process that still lives must not block on the pipe
			return p.cmd.Wait()
		}
		if r.Status != nil {
			b.put(p.rank, r.Status)
			continue
		}
		events <- event{rank: p.rank, report: r}
	}
}

// prefixer passes on the lines of the ranks' standard errors, each after the number of its rank.
type prefixer struct {
	mu sync.Mutex
	w  io.Writer
}

// maxWords is the largest number of bytes that are passed on from the standard error of a rank.
const maxWords = 16 << 10

func (p *prefixer) writerFor(rank int) io.Writer {
	return &prefixed{all: p, rank: rank, left: maxWords}
}

type prefixed struct {
	all  *prefixer
	rank int
	left int
	line []byte
}

// Write never fails, because a rank must not stop if its parent's standard error is closed.
func (p *prefixed) Write(b []byte) (int, error) {
	n := len(b)
	b = b[:min(len(b), p.left)]
	p.left -= len(b)
	p.line = append(p.line, b...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return n, nil
		}
		p.all.mu.Lock()
		_, _ = fmt.Fprintf(p.all.w, "rank %d: %s\n", p.rank, line)
		p.all.mu.Unlock()
		p.line = rest
	}
}
