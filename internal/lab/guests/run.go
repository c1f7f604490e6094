//go:build linux

package guests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/lab/guests/internal/cpio"
	"github.com/schedgen/schedgen/internal/lab/guests/internal/debian"
	"github.com/schedgen/schedgen/internal/lab/guests/internal/ether"
)

// grace is the time that the other commands have to end after one has failed. Their last output
// often shows the reason.
const grace = 10 * time.Second

// run runs the command in all guests.
func run(ctx context.Context, v *Verb, out, errs io.Writer) (err error) {
	say := func(text string) { fmt.Fprintln(errs, "guests:", text) }
	m, err := prepare(ctx, v, say)
	if err != nil {
		return err
	}
	defer m.initrd.Close() // the file has no name
	results, err := openResults(v.Out, v.Guests)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, results.close()) }()
	h := newHosts(v, out, errs)
	defer func() { err = errors.Join(err, h.stop()) }()
	began := time.Now()
	if err := h.boot(ctx, m); err != nil {
		return err
	}
	up := time.Now()
	err = h.commands(ctx, results)
	c := h.network.Counts()
	say(fmt.Sprintf("%d guests by %s, up after %.1f s, commands took %.1f s; frames: %d sent, %d lost, %d overflowed",
		v.Guests, m.accel, up.Sub(began).Seconds(), time.Since(up).Seconds(), c.Sent, c.Lost, c.Overflowed))
	return err
}

// prepare finds or makes everything that guests need to start.
func prepare(ctx context.Context, v *Verb, say func(string)) (*machine, error) {
	if goruntime.GOARCH != "amd64" {
		return nil, fmt.Errorf("guests are x86-64 and run programs of this machine, which is %s", goruntime.GOARCH)
	}
	emulator, err := findEmulator()
	if err != nil {
		return nil, err
	}
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil, err
	}
	khz, err := tscKHz(cpuinfo)
	if err != nil {
		return nil, err
	}
	image, err := debian.Open(ctx, v.Cache, v.Kernel, say)
	if err != nil {
		return nil, err
	}
	initrd, err := writeInitramfs(ctx, v, image)
	if err != nil {
		return nil, fmt.Errorf("make the guests' file system: %w", err)
	}
	return &machine{emulator: emulator, accel: accelerator(v.Accel, cpuinfo), tscKHz: khz, kernel: image.Kernel, initrd: initrd, options: v}, nil
}

// writeInitramfs returns a file with the file system of guests. The file has no name, so it
// vanishes with the last process that has it open.
func writeInitramfs(ctx context.Context, v *Verb, image *debian.Image) (*os.File, error) {
	entries, err := initramfs(ctx, v, image)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "schedlab-guests-")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Remove(f.Name()), cpio.Write(f, entries)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hosts are all guests and the switch between them.
type hosts struct {
	options    *Verb
	out, errs  io.Writer
	mu         sync.Mutex // for writing to either
	network    *ether.Switch
	guests     []*guest
	forwarding sync.WaitGroup
	failures   chan error // of forwarding
}

func newHosts(v *Verb, out, errs io.Writer) *hosts {
	return &hosts{
		options: v, out: out, errs: errs,
		network:  ether.New(ether.Config{Loss: float64(v.Loss), Seed: v.Seed, Queue: queue}),
		failures: make(chan error, v.Guests),
	}
}

// outputs returns the destinations of a guest's output.
func (h *hosts) outputs(i int) outputs {
	name := guestName(i)
	o := outputs{
		stdout:  &lines{mu: &h.mu, out: h.out, prefix: name + ": "},
		stderr:  &lines{mu: &h.mu, out: h.errs, prefix: name + ": "},
		console: &console{},
	}
	if h.options.Console {
		o.console.show = &lines{mu: &h.mu, out: h.errs, prefix: name + " console: "}
	}
	return o
}

// boot starts all guests and the switch between them, and waits until all are
// up.
func (h *hosts) boot(ctx context.Context, m *machine) error {
	for i := range h.options.Guests {
		g, err := m.start(i, h.outputs(i))
		if err != nil {
			return fmt.Errorf("start guest%d: %w", i, err)
		}
		h.guests = append(h.guests, g)
		forward := h.network.Plug(g.link)
		h.forwarding.Go(func() {
			if err := forward(); err != nil {
				h.failures <- fmt.Errorf("the link of guest%d: %w", i, err)
			}
		})
	}
	return h.forEach(ctx, h.options.Boot, "not up", (*guest).boot)
}

// stop ends all guests and waits for their processes and goroutines.
func (h *hosts) stop() error {
	h.kill()
	for _, g := range h.guests {
		<-g.ended
		_ = g.port.Close() // its other end is closed
	}
	h.forwarding.Wait()
	close(h.failures)
	var all []error
	for err := range h.failures {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (h *hosts) kill() {
	for _, g := range h.guests {
		g.killEmulator()
	}
}

// forEach does something with all guests at the same time and waits for all. It ends all guests if
// that takes longer than bound, if ctx ends, or if something other than a command fails. If a
// command fails, it ends them after a grace period. late describes a guest that is not done.
func (h *hosts) forEach(ctx context.Context, bound time.Duration, late string, do func(*guest) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, h.kill)()
	type outcome struct {
		guest int
		err   error
	}
	outcomes := make(chan outcome)
	pending := map[int]bool{}
	for i, g := range h.guests {
		pending[i] = true
		go func() { outcomes <- outcome{i, do(g)} }()
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	var failures []error
	for len(pending) > 0 {
		select {
		case <-timer.C:
			cancel(h.overdue(pending, late, bound))
			continue
		case end := <-outcomes:
			delete(pending, end.guest)
			if end.err == nil || ctx.Err() != nil {
				continue
			}
			failures = append(failures, end.err)
			if _, ok := errors.AsType[*commandError](end.err); !ok {
				cancel(end.err)
			} else if len(failures) == 1 {
				bound = grace
				timer.Reset(grace)
			}
		}
	}
	if len(failures) == 0 || ctx.Err() != nil && !slices.Contains(failures, context.Cause(ctx)) {
		failures = append(failures, context.Cause(ctx)) // nil while nothing has gone wrong
	}
	return errors.Join(failures...)
}

// overdue returns an error that names the late guests and quotes their consoles.
func (h *hosts) overdue(pending map[int]bool, late string, bound time.Duration) error {
	var all []error
	for i, g := range h.guests {
		if pending[i] {
			all = append(all, fmt.Errorf("guest%d: %s within %v; %s", i, late, bound, g.console))
		}
	}
	return errors.Join(all...)
}

// commands runs the command in all guests.
func (h *hosts) commands(ctx context.Context, results *results) error {
	for _, k := range h.options.Kill {
		h.guests[k.guest].killAsAsked(k)
	}
	err := h.forEach(ctx, h.options.Timeout, "the command has not ended", func(g *guest) error {
		return g.command(h.options.startMessage(g.number), results)
	})
	for _, k := range h.options.Kill {
		if h.guests[k.guest].become(done) != killed && err == nil {
			err = fmt.Errorf("%v: its command had ended before", k)
		}
	}
	return err
}

// startMessage returns the message that starts the command in a guest.
func (v *Verb) startMessage(guest int) message {
	m := message{Kind: start, Env: []string{
		fmt.Sprintf("SCHEDGEN_RANK=%d", guest), fmt.Sprintf("SCHEDGEN_SIZE=%d", v.Guests),
		"OUT=" + resultsDir, "HOME=/root",
	}}
	fill := strings.NewReplacer("{guest}", fmt.Sprint(guest), "{guests}", fmt.Sprint(v.Guests))
	for _, a := range v.Command {
		m.Args = append(m.Args, fill.Replace(a))
	}
	if len(v.programs()) > len(v.Add) { // the command is a file of the host
		m.Args[0] = guestProgram(v.Command[0])
	}
	return m
}
