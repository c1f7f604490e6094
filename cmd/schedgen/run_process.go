package main

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

// process is a rank in a process of its own: this program again, with a
// hidden verb. Its job comes on its standard input, which stays open for as
// long as the parent lives; its reports go out through a pipe of their own, so
// that nothing else that the process prints gets between them.
type process struct {
	rank    int
	cmd     *exec.Cmd
	job     io.WriteCloser
	reports *os.File
}

// inherited are the files that ranks get from their parent; nil: not needed.
type inherited struct {
	listener *os.File // rank 0
	input    *os.File // root
	counters *os.File // all
	segment  *os.File // all
	trace    *os.File // all
	schedule *os.File // all
}

// processes starts ranks as processes; with hosts > 0 on so many hosts that are
// made up.
func processes(jobs []*job, hosts int, files inherited, b *board, stderr io.Writer, log func(string, ...any)) (*crew, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the ranks: %w", err)
	}
	var all []*process
	ready, ended := make(chan error), make(chan struct{})
	go func() {
		// The system ties a child that is to die with its parent to the thread
		// that started it: keep that one.
		goruntime.LockOSThread()
		var net *network
		var err error
		if hosts > 0 {
			net, err = newNetwork(len(jobs), hosts) // the thread ends with the goroutine then
		} else {
			defer goruntime.UnlockOSThread()
		}
		if err == nil {
			all, err = startAll(exe, jobs, net, files, &prefixer{w: stderr}, log)
		}
		ready <- err
		<-ended
		_ = net.close() // only looked at
	}()
	if err := <-ready; err != nil {
		close(ended)
		return nil, err
	}
	return follow(all, ended, b), nil
}

func startAll(exe string, jobs []*job, net *network, files inherited, stderr *prefixer, log func(string, ...any)) ([]*process, error) {
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
				_ = p.cmd.Wait() // it has been killed
			}
			return nil, fmt.Errorf("start rank %d: %w", j.Rank, err)
		}
		log("rank %d is process %d", j.Rank, p.cmd.Process.Pid)
		all = append(all, p)
	}
	return all, nil
}

// onePlace has Go run what a process does in one place, one thread at a time.
const onePlace = "GOMAXPROCS=1"

// environment returns that of a rank's process. Where ranks share cores it has one place
// for Go code: with two, Go takes the thread that runs the rank's goroutine away from it every
// 10 ms, to give it to another one that has to be woken, and the rank has to wait for its turn of the
// core. Who says how many there are is heeded.
func environment(own []string, ranks, cores int) []string {
	said := slices.ContainsFunc(own, func(v string) bool { return strings.HasPrefix(v, "GOMAXPROCS=") })
	if said || ranks <= cores {
		return own
	}
	return append(own, onePlace)
}

func start(exe string, j *job, files inherited, stderr *prefixer) (*process, error) {
	cmd := exec.Command(exe, "run", "rank")
	cmd.Args[0] = os.Args[0] // a program may go by its name
	cmd.SysProcAttr = childAttributes()
	cmd.Stderr = stderr.of(j.Rank)
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
	// The job fits into a pipe; a rank that is dead already is heard of when
	// its reports end.
	_, _ = p.job.Write(text)
	return p, nil
}

// handOut gives the child the files it needs and tells it their descriptors.
func handOut(cmd *exec.Cmd, j job, reports *os.File, files inherited) *job {
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

// follow makes a crew of processes that have been started; ended is closed
// when all have ended.
func follow(all []*process, ended chan struct{}, b *board) *crew {
	c := &crew{size: len(all), events: make(chan event)}
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
			_ = p.cmd.Process.Kill() // likewise
		}
	}
	return c
}

// follow passes the reports of a process on and returns how it ended.
func (p *process) follow(events chan<- event, b *board) error {
	dec := json.NewDecoder(p.reports)
	for {
		var r report
		if err := dec.Decode(&r); err != nil { // the end, or cut short by it
			_ = p.reports.Close() // should it still live, it must not wait for a reader
			return p.cmd.Wait()
		}
		if r.Status != nil {
			b.put(p.rank, r.Status)
			continue
		}
		events <- event{rank: p.rank, report: r}
	}
}

// prefixer lets the ranks' standard errors through, line by line.
type prefixer struct {
	mu sync.Mutex
	w  io.Writer
}

// maxWords bounds what one rank may say on its standard error.
const maxWords = 16 << 10

func (p *prefixer) of(rank int) io.Writer { return &prefixed{all: p, rank: rank, left: maxWords} }

type prefixed struct {
	all  *prefixer
	rank int
	left int
	line []byte
}

// Write never fails: a rank must not stop because its parent's standard error
// is closed.
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
