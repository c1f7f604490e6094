package schedule

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
	"github.com/schedgen/schedgen/verify"
)

// Definition is an algorithm of a program's own, written with package build.
type Definition struct {
	Name       string // full name: the collective, a slash and a name, such as "bcast/my-trees"
	Collective string // the name of a row of [ir.Collectives] that is called, not published
	// Params are the parameters that the algorithm takes besides ranks: some of root, chunks, hosts,
	// degree, fan-in and fan-out. Without root it exists for root 0 alone, and without chunks each
	// block is one chunk.
	Params   []string
	Summary  string // one line, for lists
	Messages string // number of messages of P ranks and F chunks a block, for lists
	Paper    string // where it comes from; "" means "ours"

	// Build writes the schedule of all ranks for the builder's parameters. It must do the same each
	// time, at every rank. Several goroutines may call it at once.
	Build func(*build.Builder)

	// Chunks returns the number of chunks of a block if the caller gives none. If it is nil, that is 1,
	// and communicators cut long messages further.
	Chunks func(ranks int) int

	RankOrder  bool // it folds in the order of the ranks, so it serves operations that do not commute
	Multicasts bool // it multicasts, so it is used only over networks with multicast, unless it is named

	// Unlisted says that lists leave the algorithm out, such as [Algorithms]. Only its name leads to
	// it: rules choose it, or a program names it.
	Unlisted bool

	// Unverified says that communicators use the schedules without a proof. Otherwise a process
	// proves each schedule before its first use, as Comm.Use does.
	Unverified bool
}

// Refusal is the error of New if an algorithm of [Register] does not exist for the parameters.
type Refusal = build.Refusal

// BuildError is the error of New if the function of an algorithm of [Register] is wrong, or refuses.
type BuildError struct {
	Schedule string // the algorithm and its parameters
	Err      error  // a *Refusal, or what is wrong and in which line
}

// Error names the schedule and the error.
func (e *BuildError) Error() string { return fmt.Sprintf("schedule: %s: %v", e.Schedule, e.Err) }

// Unwrap returns e.Err.
func (e *BuildError) Unwrap() error { return e.Err }

// Register adds an algorithm to the list that [New] and [Algorithms] know. Call it in an init
// function or at the start of main, in every process of a job: its ranks must have registered the
// same. The error says what is wrong with d.
func Register(d Definition) error {
	registering.Lock()
	defer registering.Unlock()
	if err := d.check(); err != nil {
		return fmt.Errorf("registering %s: %w", quote(d.Name), err)
	}
	a := Algorithm{
		Name: d.Name, Collective: d.Collective, Summary: d.Summary, Messages: d.Messages,
		Params: slices.Clone(d.Params), Paper: d.Paper, RankOrder: d.RankOrder,
		relays: true, build: d.Build, makes: (*Spec).buildSchedule, unlisted: d.Unlisted, chunks: d.Chunks,
	}
	if !d.Unverified {
		a.prove = verify.Prove
	}
	if a.Paper == "" {
		a.Paper = "ours"
	}
	row := a.Row()
	a.casts, a.tells = d.Multicasts && row.Blocks != nil, d.Multicasts && row.Blocks == nil
	all := append(registry(), a)
	registered.Store(&all)
	return nil
}

var (
	registering sync.Mutex
	registered  atomic.Pointer[[]Algorithm] // the built-in algorithms and those of Register; nil: none of Register
)

func (d *Definition) check() error {
	row, ok := ir.CollectiveNamed(d.Collective)
	collective, name, _ := strings.Cut(d.Name, "/")
	h := ir.Header{Collective: d.Collective, Algorithm: name, Ranks: 1}
	if ok && row.Blocks != nil {
		h.Chunks = row.Blocks(1)
	}
	switch {
	case !ok:
		return fmt.Errorf("no collective %s", quote(d.Collective))
	case row.Published:
		return fmt.Errorf("messages of %s are published along a graph of channels; register a bcast", d.Collective)
	case collective != d.Collective:
		return fmt.Errorf("the name of an algorithm of %s begins with %[1]s/", d.Collective)
	case ir.Validate(&ir.Schedule{Header: h, Programs: []ir.Program{{Done: []ir.Slot{ir.Enter}}}}) != nil:
		return fmt.Errorf("%s is not a name: it starts with a lower-case letter and continues with lower-case letters, digits and hyphens", quote(name))
	case d.Build == nil:
		return fmt.Errorf("no function Build")
	}
	if _, ok := Named(d.Name); ok {
		return fmt.Errorf("there is an algorithm of this name already")
	}
	for i, p := range d.Params {
		switch {
		case slices.Contains(d.Params[:i], p):
			return fmt.Errorf("parameter %s is there twice", p)
		case p == "root" && !row.Rooted:
			return fmt.Errorf("%s has no root", d.Collective)
		case p == "chunks" && row.Blocks == nil:
			return fmt.Errorf("%s moves no chunks", d.Collective)
		case !slices.Contains([]string{"root", "chunks", "degree", "fan-in", "fan-out", "hosts"}, p):
			return fmt.Errorf("no parameter %s; there are root, chunks, degree, fan-in, fan-out and hosts", quote(p))
		}
	}
	return nil
}

// built are the newest schedules that functions of Register have made.
var built struct {
	mu      sync.Mutex
	order   []builtKey // the oldest first
	by      map[builtKey]*ir.Schedule
	actions int64 // of all
}

type builtKey struct {
	algorithm string
	params    Params
}

// maxBuilt is the largest number of actions of all schedules that are kept.
const maxBuilt = 1 << 22

// madeTwice is the largest number of actions of a schedule that is made a second time, to see whether
// the function makes the same one.
const madeTwice = 1 << 13

// buildSchedule returns the schedule of an algorithm that a program has registered.
func (s *Spec) buildSchedule() (*ir.Schedule, error) {
	key := builtKey{s.alg.Name, s.params}
	built.mu.Lock()
	made := built.by[key]
	built.mu.Unlock()
	if made != nil {
		return made, nil
	}
	h := s.Header()
	made, err := build.Schedule(h, s.alg.build)
	if err != nil {
		return nil, &BuildError{title(&h), err}
	}
	if !s.alg.Multicasts() && slices.ContainsFunc(made.Programs, func(p ir.Program) bool { return p.Multicasts() }) {
		return nil, &BuildError{title(&h), errors.New("it multicasts, so its Definition needs Multicasts")}
	}
	_, actions := sizeOfAll(made)
	if actions <= madeTwice {
		if again, err := build.Schedule(h, s.alg.build); err != nil || !reflect.DeepEqual(made, again) {
			return nil, &BuildError{title(&h), errors.New("the function makes another schedule each time, so ranks would run different ones")}
		}
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.by == nil {
		built.by = make(map[builtKey]*ir.Schedule)
	}
	if was := built.by[key]; was != nil {
		return was, nil
	}
	built.by[key], built.order, built.actions = made, append(built.order, key), built.actions+actions
	for built.actions > maxBuilt && len(built.order) > 1 {
		_, less := sizeOfAll(built.by[built.order[0]])
		delete(built.by, built.order[0])
		built.order, built.actions = built.order[1:], built.actions-less
	}
	return made, nil
}

// title names a schedule and its parameters.
func title(h *ir.Header) string {
	text := fmt.Sprintf("%s ranks=%d", h.Name(), h.Ranks)
	if h.Rooted() {
		text += fmt.Sprintf(" root=%d", h.Root)
	}
	if h.HasMessage() {
		text += fmt.Sprintf(" chunks=%d", h.Chunks)
	}
	for _, p := range h.Params {
		text += fmt.Sprintf(" %s=%d", p.Name, p.Value)
	}
	return text
}

// sizeOfAll returns the numbers of rules and actions of a schedule.
func sizeOfAll(s *ir.Schedule) (rules, actions int64) {
	for rank := range s.Programs {
		z := sizeOfProgram(&s.Programs[rank])
		rules, actions = rules+int64(z.rules), actions+int64(z.acts)
	}
	return rules, actions
}

func sizeOfProgram(p *ir.Program) size {
	z := size{rules: len(p.Rules)}
	for i := range p.Rules {
		z.acts += len(p.Rules[i].Do)
	}
	return z
}
