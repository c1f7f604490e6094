package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// collectiveCmd is the verb of run for a collective.
type collectiveCmd struct {
	row          ir.Collective
	kind         *kind
	data         *dataFlags
	kong.Plugins // the flags of data that the collective uses
	runFlags
	seenFlags

	at situation // set by setLink
}

// dataFlags are the flags for what an operation moves, and how often. The collective's row and its
// algorithms decide which of them its verb has; the others keep their zero values.
type dataFlags struct {
	file    fileArg
	message struct {
		Input  string `placeholder:"FILE" complete:"file" help:"File to broadcast."`
		Output string `placeholder:"DIR" complete:"directory" help:"Write the copy of each rank to a file in DIR."`
	}
	size struct {
		Size *byteSize `placeholder:"N" help:"${size}; units B, kB, MB, GB, KiB, MiB, GiB."`
	}
	counts   countsFlag
	messages struct {
		Messages int `default:"1000" placeholder:"N" help:"Messages that each rank publishes; default 1000."`
	}
	iterations struct {
		Iterations *int `placeholder:"N" help:"${iterations}; one more warms up."`
	}
	learn learnFlag
	root  struct {
		Root *int `placeholder:"R" help:"Root of the operation; default 0."`
	}
	origin struct {
		Origin *int `placeholder:"R" help:"Rank that asks the others; default 0."`
	}
	fold   foldFlags
	chunks struct {
		Chunks *int `placeholder:"F" help:"Chunks that ${each} is cut into; default by its size."`
	}
	degree source.DegreeFlag
	fans   source.FanFlags
	hosts  source.HostsFlag
	delay  struct {
		Delay     string         `expert:"" default:"none" placeholder:"POLICY" complete:"delay" help:"When the root starts to multicast: none, fixed, adaptive or random-peer."`
		RootDelay *time.Duration `expert:"" placeholder:"TIME" help:"Time of --delay fixed; default 100us."`
	}
	// Flags of other collectives that have no effect on one without bytes.
	idle struct {
		Size   *byteSize `hidden:""`
		Root   *int      `hidden:""`
		Chunks *int      `hidden:""`
	}
}

// newCollectiveCmd returns the verb of run for a collective of a kind.
func newCollectiveCmd(row ir.Collective, k *kind) collectiveCmd {
	d := new(dataFlags)
	var all kong.Plugins
	add := func(has bool, flags any) {
		if has {
			all = append(all, flags)
		}
	}
	add(!row.Published, &d.file)
	add(k == &kinds.message, &d.message)
	add(row.Blocks != nil, &d.size)
	add(row.TakesCounts(), &d.counts)
	add(row.Published, &d.messages)
	add(!row.Published, &d.iterations)
	add(!row.Published, &d.learn)
	add(hasMessage(&row) && row.Rooted && !row.Origin, &d.root)
	add(hasMessage(&row) && row.Origin, &d.origin)
	add(row.Inputs != nil, &d.fold)
	add(someTakes(row.Name, "chunks"), &d.chunks)
	add(someTakes(row.Name, "degree"), &d.degree)
	add(someTakes(row.Name, "fan-in"), &d.fans)
	add(someTakes(row.Name, "hosts"), &d.hosts)
	add(k == &kinds.message, &d.delay)
	add(row.Blocks == nil, &d.idle)
	return collectiveCmd{row: row, kind: k, data: d, Plugins: all}
}

// someTakes reports whether an algorithm of a collective has a parameter.
func someTakes(collective, param string) bool {
	return slices.ContainsFunc(schedule.AlgorithmsOf(collective), func(a schedule.Algorithm) bool { return source.Takes(&a, param) })
}

// Help is the long help text.
func (c *collectiveCmd) Help() string {
	var b strings.Builder
	b.WriteString(c.kind.about.fill(c.row.Name))
	if c.row.Inputs != nil {
		b.WriteString("\nThe bytes are numbers of --type whose results are exact.\n")
	}
	if c.row.TakesCounts() {
		b.WriteString(c.aboutCounts())
	}
	b.WriteString(`
The default algorithm depends on the collective, the number of ranks, the size and the transport.
With the same flags, schedgen explain tells which one it is, and why.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto))
	if !c.row.Published {
		b.WriteString(`
FILE holds a schedule, written by hand or by schedgen emit, that runs in place of an algorithm. It
sets the number of ranks and chunks, and the root.
`)
	}
	b.WriteString("\nExamples:\n")
	for i, e := range c.kind.examples["run"] {
		fmt.Fprintf(&b, "\n  schedgen run %s %s", c.row.Name, e)
		if i > 0 || c.kind != &kinds.blocks {
			continue
		}
		if c.row.Rooted {
			b.WriteString(" --" + c.row.RootWord() + " 3")
		}
		if c.row.TakesCounts() {
			fmt.Fprintf(&b, "\n  schedgen run %s -p 5 --counts %s", c.row.Name, c.someCounts())
		}
		if c.row.Inputs != nil {
			fmt.Fprintf(&b, "\n  schedgen run %s -p 5 --size 10KB --op max --type int32", c.row.Name)
		}
	}
	return b.String()
}

// aboutCounts is the part of the help about --counts.
func (c *collectiveCmd) aboutCounts() string {
	if c.row.Inputs != nil {
		return fmt.Sprintf("\nWith --counts each block has its own length, which may be 0, as in MPI's %s.\n", mpiCounted(&c.row))
	}
	return fmt.Sprintf(`
With --counts each block has its own length, which may be 0, as in MPI's %s. Each rank then
knows only the lengths of the blocks that it holds or receives. So algorithms in which ranks pass on
blocks of others cannot run, unless all ranks receive all blocks.
`, mpiCounted(&c.row))
}

// mpiCounted returns MPI's name of the collective with counts. MPI's reduce_scatter always has them.
func mpiCounted(row *ir.Collective) string {
	if row.Inputs != nil {
		return strings.ReplaceAll(row.Name, "-", "_")
	}
	return row.Name + "v"
}

// someCounts is an example of --counts. Blocks that are folded consist of elements.
func (c *collectiveCmd) someCounts() string {
	if c.row.Inputs != nil {
		return "10KB,0,8B,16,10KB"
	}
	return "10KB,0,5B,1,10KB"
}

// Run starts ranks that run the collective.
func (c *collectiveCmd) Run(ctx context.Context, std terminal.Stdio) (err error) {
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	r, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.Input.Close()) }()
	if err != nil {
		return err
	}
	return s.finish(ctx, r)
}

// params returns the flags for parameters of algorithms.
func (c *collectiveCmd) params() source.Flags {
	d := c.data
	return source.Flags{Root: d.root.Root, Origin: d.origin.Origin, Chunks: d.chunks.Chunks, TreeFlags: source.TreeFlags{DegreeFlag: d.degree, FanFlags: d.fans}, HostsFlag: d.hosts}
}

// dropIdle prints which flags have no effect.
func (c *collectiveCmd) dropIdle(std terminal.Stdio) {
	idle := &c.data.idle
	if idle.Size != nil {
		std.Idle("size", source.NoMessage(c.row.Name))
	}
	flags := source.Flags{Root: idle.Root, Chunks: idle.Chunks}
	flags.DropIdle(c.row.Name, std)
}

// load reads the file with the schedule, if the flags name one. The schedule sets the number of
// ranks.
func (c *collectiveCmd) load(ctx context.Context, std terminal.Stdio) (*ir.Schedule, error) {
	return c.data.file.load(ctx, std, &c.runFlags, c.row.Name, c.params())
}

// prepare sets the job of the session from the flags, and returns the schedules to run.
func (c *collectiveCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	c.dropIdle(s.std)
	if s.Job, err = c.common(crew.TaskRun, c.row.Name); err != nil {
		return r, err
	}
	if err := c.setData(s); err != nil {
		return r, err
	}
	if r.file, err = c.load(ctx, s.std); err != nil {
		return r, err
	}
	if err := c.setLink(ctx, s); err != nil {
		return r, err
	}
	if r.specs, err = c.specs(s); err != nil {
		return r, err
	}
	p := r.params()
	if c.row.Published {
		s.limit = p.Ranks * (p.Ranks - 1) * s.Job.Messages
		return r, nil
	}
	if s.Job.Iterations, err = c.repeats(&s.Job, p); err != nil {
		return r, err
	}
	s.limit = s.Job.Iterations
	if s.Outputs, err = c.outputs(p.Ranks); err != nil || s.Input == nil {
		return r, err
	}
	s.Job.Sum, err = terminal.Await(ctx, s.Input.Sum)
	return r, err
}

// Bounds of what a run moves.
const (
	maxMessage   = 64 << 30 // bytes of a message, which every rank copies, or of a rank's blocks
	maxPublished = 1 << 30  // bytes of a rootless message, which every rank on its way copies
	maxMessages  = 1 << 30  // rootless messages of a rank
)

// setData sets what the operation moves, and when its root begins.
func (c *collectiveCmd) setData(s *session) (err error) {
	d, j := c.data, &s.Job
	if j.Size = c.kind.size; d.size.Size != nil {
		j.Size = int64(*d.size.Size)
	}
	switch {
	case d.messages.Messages < 0 || d.messages.Messages > maxMessages:
		return fmt.Errorf("--messages=%d: must be in 0..%d", d.messages.Messages, maxMessages)
	case c.row.Published && j.Size > maxPublished:
		return fmt.Errorf("--size=%v: at most %v", byteSize(j.Size), byteSize(maxPublished))
	}
	j.Messages = d.messages.Messages
	if c.kind == &kinds.message {
		if s.Input, err = c.input(j.Size); err != nil {
			return err
		}
		j.Size = s.Input.Size
	}
	if err := c.setDelay(j); err != nil {
		return err
	}
	return d.fold.set(j, d.size.Size != nil)
}

// input returns the message of a broadcast: a file, or size made-up bytes.
func (c *collectiveCmd) input(size int64) (in *crew.Input, err error) {
	name := c.data.message.Input
	switch {
	case c.data.size.Size != nil && name != "":
		return nil, errors.New("--input and --size: give only one of them")
	case name != "":
		if in, err = crew.OpenInput(name); err != nil {
			return nil, err
		}
	default:
		in = &crew.Input{Name: "made-up bytes", Size: size, Seed: c.Seed}
	}
	if in.Size > maxMessage {
		return nil, errors.Join(fmt.Errorf("a message of %v: at most %v", byteSize(in.Size), byteSize(maxMessage)), in.Close())
	}
	return in, nil
}

// delays are the root-delay policies.
var delays = []string{"none", "fixed", "adaptive", "random-peer"}

// setDelay sets the root-delay policy of the job.
func (c *collectiveCmd) setDelay(j *crew.Job) error {
	d := &c.data.delay
	if d.Delay == "" { // the verb has no such flag
		return nil
	}
	if err := j.Delay.UnmarshalText([]byte(d.Delay)); err != nil {
		return fmt.Errorf("--delay=%s: must be one of %s", d.Delay, strings.Join(delays, ", "))
	}
	switch {
	case d.RootDelay != nil && j.Delay != runtime.DelayFixed:
		return errors.New("--root-delay: needs --delay fixed")
	case d.RootDelay != nil && *d.RootDelay < 0:
		return fmt.Errorf("--root-delay=%v: must not be negative", *d.RootDelay)
	case d.RootDelay != nil:
		j.RootDelay = *d.RootDelay
	case j.Delay == runtime.DelayFixed:
		j.RootDelay = 100 * time.Microsecond
	}
	c.delays = j.Delay != runtime.DelayNone
	return nil
}

// setLink chooses the link and the algorithm. It drops the interface of a hybrid link if nothing is
// multicast.
func (c *collectiveCmd) setLink(ctx context.Context, s *session) error {
	ranks, err := c.ranks()
	if err != nil {
		return err
	}
	if err := c.data.counts.set(&s.Job, c.data.size.Size, ranks); err != nil {
		return err
	}
	if err := c.data.learn.set(&s.Job, c.Algorithm, c.file != nil, c.params()); err != nil {
		return err
	}
	if c.Loss != nil && c.Algorithm != "" && !loses(&c.row, c.casts()) {
		return errLoss()
	}
	if c.at, err = c.situation(ctx, s.std, &c.row, chosenFor(&s.Job, ranks), c.data.hosts.Hosts); err != nil {
		return err
	}
	if s.Job.Link = c.at.link; c.delays && !c.at.link.Multicasts() {
		return fmt.Errorf("--delay: transport %s does not multicast", c.at.link.Transport)
	}
	named := c.Algorithm != ""
	if err := c.choose(ctx, s.std, &s.Job, c.at.of); err != nil {
		return err
	}
	if !named {
		c.takeDirect(&s.Job, ranks)
	}
	if s.Job.Algorithm = c.Algorithm; c.casts() {
		return nil
	}
	if s.Job.Link.Transport == overHybrid {
		s.Job.Link.Interface = ""
	}
	if c.Loss != nil && !loses(&c.row, false) {
		return errLoss()
	}
	return nil
}

// casts reports whether the algorithm or the schedule of the file multicasts.
func (c *collectiveCmd) casts() bool {
	if c.file != nil {
		return deliveries(c.file).multicasts
	}
	return schedule.Multicasts(c.Algorithm)
}

// specs returns the algorithm with its parameters: once, or for each origin of rootless messages.
// It returns nil if a schedule from a file, which it checks, runs in place of an algorithm.
func (c *collectiveCmd) specs(s *session) ([]*schedule.Spec, error) {
	if c.file != nil {
		if s.Job.Apart() && c.file.Relays(func(rank int) ir.Program { return c.file.Programs[rank] }) {
			return nil, relayed(&s.Job, c.data.file.File, false, c.file.Ranks)
		}
		chunks := c.file.BlockChunks()
		return nil, c.fitsFrames(chunks, s.Job.Size, fmt.Sprintf("%s cuts %s into %s", c.data.file.File, c.kind.each, command.Count(chunks, "chunk")))
	}
	p, err := c.runFlags.params(c.row.Name, c.params())
	if err != nil {
		return nil, err
	}
	if !c.row.Published {
		spec, err := c.spec(s, p)
		if err == nil && s.Job.Apart() && spec.Relays() {
			err = relayed(&s.Job, c.Algorithm, spec.Params().Hosts > 0, p.Ranks)
		}
		return []*schedule.Spec{spec}, err
	}
	var all []*schedule.Spec
	for p.Root = range p.Ranks {
		spec, err := source.New(c.Algorithm, p)
		if err != nil {
			return nil, err
		}
		all = append(all, spec)
	}
	return all, nil
}

// spec returns the algorithm with its parameters. It sets the number of chunks, unless a flag or a
// rule does.
func (c *collectiveCmd) spec(s *session, p schedule.Params) (*schedule.Spec, error) {
	size := int(s.Job.Size)
	if p.Chunks == 0 && hasMessage(&c.row) {
		cut, err := c.at.params(c.Algorithm, &selection.Params{Chunk: c.picked.Chunk, Masters: p.Hosts > 0})
		if err != nil {
			return nil, source.FlagError(err)
		}
		p.Chunks = cut.Chunks
	}
	spec, err := source.New(c.Algorithm, p)
	if err != nil || !hasMessage(&c.row) {
		return spec, err
	}
	h := spec.Header()
	chunks := h.BlockChunks()
	switch enough := selection.AtLeast(chunks, size); {
	case enough == chunks:
		return spec, nil
	case c.data.chunks.Chunks != nil:
		return nil, c.fitsFrames(chunks, s.Job.Size, fmt.Sprintf("--chunks=%d", chunks))
	default:
		p.Chunks = enough
		return source.New(c.Algorithm, p)
	}
}

// fitsFrames returns an error if blocks of size bytes, cut into the given number of chunks, have
// chunks that do not fit a frame. source names the source of that number.
func (c *collectiveCmd) fitsFrames(chunks int, size int64, source string) error {
	if chunks < 1 || selection.AtLeast(chunks, int(size)) <= chunks {
		return nil
	}
	return fmt.Errorf("%s: a chunk of a %s of %v is then longer than %v; at least %d chunks are needed",
		source, c.kind.block, byteSize(size), byteSize(wire.MaxBody), (size-1)/wire.MaxBody+1)
}

// repeats returns the number of operations: the flag, or the default for the kind of collective.
// The default moves 256 MiB to or from a rank, in at most 100 operations.
func (c *collectiveCmd) repeats(j *crew.Job, p schedule.Params) (int, error) {
	n := c.kind.iterations
	if n == 0 {
		most, err := mostBytes(j, p.Ranks, p.Root)
		if err != nil {
			return 0, err
		}
		n = int(min(max(256<<20/max(most, 1), 1), 100))
	}
	if j.Learn != "" {
		n = max(n, learnIterations)
	}
	if flag := c.data.iterations.Iterations; flag != nil {
		n = *flag
	}
	if n < 1 {
		return 0, fmt.Errorf("--iterations=%d: must be at least 1", n)
	}
	return n, nil
}

// outputs makes sure that the ranks can write to the directory of --output. It returns the name of
// each rank's file, or nil without --output.
func (c *collectiveCmd) outputs(ranks int) ([]string, error) {
	dir := c.data.message.Output
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".schedgen-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	base := "message"
	if c.data.message.Input != "" {
		base = filepath.Base(c.data.message.Input)
	}
	names := make([]string, ranks)
	for rank := range names {
		names[rank] = filepath.Join(dir, fmt.Sprintf("%s.rank%d", base, rank))
	}
	return names, nil
}

// runVerbs returns the verbs of run: one for each collective, or, if only is set, one for that
// collective.
func runVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(row ir.Collective, k *kind) (any, template) {
		c := newCollectiveCmd(row, k)
		return &c, k.run
	})
}

// rankVerbs returns the verbs of rank: one for each collective, or, if only is set, one for that
// collective.
func rankVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(row ir.Collective, k *kind) (any, template) {
		return &rankCollectiveCmd{collectiveCmd: newCollectiveCmd(row, k)}, k.rank
	})
}

// collectiveVerbs makes a verb for each collective that has a command, or, if only is set, for that
// collective. It makes a struct with a field for each verb, which kong reads.
func collectiveVerbs(only string, command func(ir.Collective, *kind) (cmd any, help template)) kong.Plugins {
	var fields []reflect.StructField
	var cmds []reflect.Value
	for i, row := range ir.Collectives() {
		k := kindOf(&row)
		if k == nil || only != "" && only != row.Name {
			continue
		}
		cmd, help := command(row, k)
		v := reflect.ValueOf(cmd).Elem()
		cmds = append(cmds, v)
		fields = append(fields, reflect.StructField{
			Name: "Verb" + strconv.Itoa(i), Type: v.Type(),
			Tag: reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q help:%q set:%q set:%q set:%q set:%q`, row.Name, help.fill(row.Name),
				"size="+k.sizeHelp(), "counts="+countsHelp(&row), "each="+k.each, "iterations="+k.repeats.fill(row.Name))),
		})
	}
	all := reflect.New(reflect.StructOf(fields))
	for i, cmd := range cmds {
		all.Elem().Field(i).Set(cmd)
	}
	return kong.Plugins{all.Interface()}
}

// serves reports whether the verb runs the schedule s.
func serves(verb string, s *ir.Schedule) bool { return s.Row() != nil && verbOf(s.Collective) == verb }

// quietLink returns the link of a run without multicasts. --loss is an error.
func (f *runFlags) quietLink(ctx context.Context, std terminal.Stdio) (crew.Link, error) {
	if f.Loss != nil {
		return crew.Link{}, errLoss()
	}
	l, _, err := f.link(ctx, std)
	if l.Transport == overHybrid {
		l.Interface = ""
	}
	return l, err
}
