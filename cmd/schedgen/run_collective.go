package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// kind is what run, rank and bench do with the collectives of one kind. The row of a collective says
// of which kind it is ([kindOf]), so a new row of the table needs nothing here.
type kind interface {
	// command returns a pointer to the command of run for a collective, and its help in one line.
	command(row ir.Collective) (cmd collectiveCmd, help string)

	// seat returns a pointer to the command of rank, and its help in one line; nil if ranks that
	// are started one by one cannot run the collective.
	seat(row ir.Collective) (cmd any, help string)

	// operations returns what bench times.
	operations(row ir.Collective) []operation

	// work goes through the operations of a run at one rank, and checks them.
	work(ctx context.Context, w *worker, out *outcome) error

	// table prints the rows of a run's outcome to w, and returns what stands below them.
	table(s *session, w io.Writer, t *tally) (below string)

	// object adds to what all kinds say of a run's outcome.
	object(s *session, t *tally, o *runObject)

	// verdict says what has been checked, and holds.
	verdict(s *session) string

	// wrong says in two words what has been found.
	wrong() string

	// timed reports whether ranks tell the time of each operation.
	timed() bool
}

// kindOf returns the kind of a collective, nil if the commands know none for it.
func kindOf(row *ir.Collective) kind {
	switch {
	case row.Published:
		return published{}
	case row.Blocks != nil && isMessage(row):
		return message{}
	case row.Blocks == nil && row.Synchronizes:
		return synchronizing{}
	case row.Blocks != nil:
		return blocks{}
	}
	return nil
}

// isMessage reports whether all that a collective with blocks does is to bring one block from the
// root to all ranks. Such a collective works in place.
func isMessage(row *ir.Collective) bool {
	return row.Rooted && row.Blocks(2) == 1 && row.Held(2, 0, 0).Count == 1 && row.Held(2, 0, 1).Count == 0 &&
		row.Wanted(2, 0, 0).Count == 1 && row.Wanted(2, 0, 1).Count == 1
}

// hasMessage reports whether calls of a collective move bytes, which multicasts may carry.
func hasMessage(row *ir.Collective) bool { return row.Blocks != nil && !row.Published }

// rowOf returns the row of a collective that the command line, or a job, names; the zero row, which is
// of no kind, if there is none.
func rowOf(collective string) *ir.Collective {
	row, _ := ir.CollectiveNamed(collective)
	return &row
}

// collectiveCmd is one of run's for a collective.
type collectiveCmd interface {
	flags() (*runFlags, *seenFlags)

	// prepare turns the flags into a session's job and what is run.
	prepare(ctx context.Context, s *session) (toRun, error)
}

// runCommand starts ranks that run a collective.
func runCommand(ctx context.Context, std stdio, c collectiveCmd) (err error) {
	flags, seen := c.flags()
	s := &session{flags: flags, seen: *seen, std: std}
	r, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.input.close()) }()
	if err != nil {
		return err
	}
	return s.finish(ctx, r)
}

// runVerbs returns the verbs of run, and rankVerbs those of rank: one for each collective.
func runVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(k kind, row ir.Collective) (any, string) { return k.command(row) })
}

func rankVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(k kind, row ir.Collective) (any, string) { return k.seat(row) })
}

// collectiveVerbs makes a verb for each collective that has a command, or for that one alone if only names one, as
// kong wants it: a struct with a field for each.
func collectiveVerbs(only string, of func(k kind, row ir.Collective) (cmd any, help string)) kong.Plugins {
	var fields []reflect.StructField
	var cmds []reflect.Value
	for i, row := range ir.Collectives() {
		k := kindOf(&row)
		if k == nil || only != "" && only != row.Name {
			continue
		}
		cmd, help := of(k, row)
		if cmd == nil {
			continue
		}
		v := reflect.ValueOf(cmd).Elem()
		cmds = append(cmds, v)
		fields = append(fields, reflect.StructField{
			Name: "Verb" + strconv.Itoa(i), Type: v.Type(),
			Tag: reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q help:%q`, row.Name, help)),
		})
	}
	all := reflect.New(reflect.StructOf(fields))
	for i, cmd := range cmds {
		all.Elem().Field(i).Set(cmd)
	}
	return kong.Plugins{all.Interface()}
}

// runnable returns the names of the collectives that run has a verb for.
func runnable() (names []string) {
	for _, row := range ir.Collectives() {
		if kindOf(&row) != nil {
			names = append(names, row.Name)
		}
	}
	return names
}

// verbOf returns the verb of run for a schedule from a file: that of the collective whose calls run
// it. A file that names no collective of the table is taken for a broadcast's.
func verbOf(collective string) string {
	if row := rowOf(collective); kindOf(row) != nil {
		return row.CalledBy()
	}
	return schedule.Bcast
}

// serves reports whether the verb of a collective runs schedules of another one.
func serves(verb string, s *ir.Schedule) bool { return s.Row() != nil && verbOf(s.Collective) == verb }

// setAlgorithm has a communicator use an algorithm for a collective.
func setAlgorithm(cfg *runtime.Config, collective string, alg runtime.Algorithm) {
	if cfg.Algorithms == nil {
		cfg.Algorithms = make(runtime.Algorithms)
	}
	cfg.Algorithms[collective] = alg
}

// multicasts reports whether the algorithm of that name does.
func multicasts(algorithm string) bool {
	all := schedule.Algorithms()
	i := slices.IndexFunc(all, func(a schedule.Algorithm) bool { return a.Name == algorithm })
	return i >= 0 && all[i].Multicasts()
}

// errLoss is the error for --loss where nothing is multicast.
func errLoss() error {
	have := []string{"broadcasts"}
	for _, a := range schedule.Algorithms() {
		if row := rowOf(a.Collective); a.Multicasts() && !(row.Blocks != nil && isMessage(row)) {
			have = append(have, a.Name)
		}
	}
	last := len(have) - 1
	words := have[last]
	if last > 0 {
		words = strings.Join(have[:last], ", ") + " and " + words
	}
	return fmt.Errorf("--loss: only multicasts are lost; %s have them", words)
}

// quietLink is the link of a run without multicasts: nothing can be lost.
func (f *runFlags) quietLink(ctx context.Context, std stdio) (link, error) {
	if f.Loss != nil {
		return link{}, errLoss()
	}
	l, _, err := f.link(ctx, std)
	if l.Transport == overHybrid {
		l.Interface = ""
	}
	return l, err
}

// withArticle puts a or an before the name of a collective.
func withArticle(collective string) string {
	if strings.ContainsAny(collective[:min(len(collective), 1)], "aeiou") {
		return "an " + collective
	}
	return "a " + collective
}
