package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Serve does the work of a rank's process, which is started with the arguments "run rank". It reads
// the job from in. It reports errors of the work to the parent; the process itself then exits with
// 0.
func Serve(ctx context.Context, in io.Reader) error {
	dec := json.NewDecoder(in)
	j := new(Job)
	if err := dec.Decode(j); err != nil {
		return fmt.Errorf("no job on standard input: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // the work and the answers send reports concurrently
	enc := json.NewEncoder(os.NewFile(uintptr(j.ReportFD), "reports"))
	send := func(r report) error {
		mu.Lock()
		defer mu.Unlock()
		return enc.Encode(r)
	}
	at := NewPosition(j.Rank)
	go func() {
		j.answer(dec, at, send) // returns when the parent closes the pipe
		cancel(errCalledOff)
	}()
	res, err := j.resources()
	res.Position = at
	if err != nil {
		return send(report{Failed: newFailure(j.Rank, err)})
	}
	return work(ctx, j, res, send)
}

// answer sends the status of the rank whenever the parent asks for it. A question is an empty
// object.
func (j *Job) answer(questions *json.Decoder, at *Position, send func(report) error) {
	for {
		var question struct{}
		if questions.Decode(&question) != nil || send(report{Status: new(at.Report())}) != nil {
			return
		}
	}
}

// resources opens the files that the process has inherited.
func (j *Job) resources() (res Resources, err error) {
	res.Open = OpenTransport
	res.Input = &Input{Name: "made-up bytes", Size: j.Size, Seed: j.Seed}
	if j.InputFD > 0 {
		res.Input.file, res.Input.Name = os.NewFile(uintptr(j.InputFD), "input"), "the file"
	}
	if j.TraceFD > 0 {
		res.Trace = os.NewFile(uintptr(j.TraceFD), "trace")
	}
	if j.ScheduleFD > 0 {
		if res.Schedule, err = readSchedule(os.NewFile(uintptr(j.ScheduleFD), "schedule")); err != nil {
			return res, fmt.Errorf("the schedule: %w", err)
		}
	}
	if j.CountersFD > 0 {
		res.counters, err = mapCounters(os.NewFile(uintptr(j.CountersFD), "counters"), j.Params.Ranks)
	}
	return res, err
}

// listener returns the coordinator's socket at rank 0, which may have inherited it, and nil at
// other ranks.
func (j *Job) listener(ctx context.Context) (net.Listener, error) {
	switch {
	case j.Rank > 0:
		return nil, nil
	case j.ListenerFD == 0:
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", j.Link.Coordinator)
		if err != nil && ctx.Err() == nil {
			return nil, InputError{fmt.Errorf("--coordinator=%s: %w", j.Link.Coordinator, err)}
		}
		return l, err
	}
	f := os.NewFile(uintptr(j.ListenerFD), "coordinator")
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the coordinator's socket: %w", err)
	}
	return l, nil
}
