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

// kind is the part of the verbs run, rank and bench that depends on the kind of a collective.
// [kindOf] finds the kind by the collective's row, so a new row of the table needs no code here.
type kind interface {
	// command returns a pointer to the command of run for a collective, and its help of one line.
	command(row ir.Collective) (cmd collectiveCmd, help string)

	// seat returns a pointer to the command of rank for a collective, and its help of one line. It
	// returns nil if ranks that are started one by one cannot run the collective.
	seat(row ir.Collective) (cmd any, help string)

	// operations returns the operations that bench times.
	operations(row ir.Collective) []operation

	// work runs the operations of a run at one rank, and checks them.
	work(ctx context.Context, w *worker, out *outcome) error

	// table prints the rows of a run's results to w, and returns the text below them.
	table(s *session, w io.Writer, t *tally) (below string)

	// object adds the results that only this kind has.
	object(s *session, t *tally, o *runObject)

	// verdict returns a sentence that tells what was checked and holds.
	verdict(s *session) string

	// wrong returns two words for a check that has failed.
	wrong() string

	// timed reports whether ranks report the time of each operation.
	timed() bool
}

// kindOf returns the kind of a collective, or nil if the commands have none for it.
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

// isMessage reports whether a collective with blocks only brings one block from the root to all
// ranks. Such a collective works in place.
func isMessage(row *ir.Collective) bool {
	return row.Rooted && row.Blocks(2) == 1 && row.Held(2, 0, 0).Count == 1 && row.Held(2, 0, 1).Count == 0 &&
		row.Wanted(2, 0, 0).Count == 1 && row.Wanted(2, 0, 1).Count == 1
}

// hasMessage reports whether calls of a collective move bytes. Multicasts may carry these.
func hasMessage(row *ir.Collective) bool { return row.Blocks != nil && !row.Published }

// rowOf returns the row of the collective of that name, or the zero row, which has no kind, if
// there is none.
func rowOf(collective string) *ir.Collective {
	row, _ := ir.CollectiveNamed(collective)
	return &row
}

// collectiveCmd is a command of the verb run for a collective.
type collectiveCmd interface {
	flags() (*runFlags, *seenFlags)

	// prepare sets the job of the session from the flags, and returns the schedules to run.
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

// runVerbs returns the verbs of run: one for each collective, or the one that only names.
func runVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(k kind, row ir.Collective) (any, string) { return k.command(row) })
}

// rankVerbs returns the verbs of rank: one for each collective, or the one that only names.
func rankVerbs(only string) kong.Plugins {
	return collectiveVerbs(only, func(k kind, row ir.Collective) (any, string) { return k.seat(row) })
}

// collectiveVerbs makes a verb for each collective that has a command, or for the one that only
// names. It makes a struct with a field for each verb, which kong reads.
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
// it. A file that names no collective of the table is taken for a broadcast.
func verbOf(collective string) string {
	if row := rowOf(collective); kindOf(row) != nil {
		return row.CalledBy()
	}
	return schedule.Bcast
}

// serves reports whether the verb runs the schedule s.
func serves(verb string, s *ir.Schedule) bool { return s.Row() != nil && verbOf(s.Collective) == verb }

// setAlgorithm sets the algorithm that a communicator uses for a collective.
func setAlgorithm(cfg *runtime.Config, collective string, alg runtime.Algorithm) {
	if cfg.Algorithms == nil {
		cfg.Algorithms = make(runtime.Algorithms)
	}
	cfg.Algorithms[collective] = alg
}

// multicasts reports whether the algorithm of that name multicasts.
func multicasts(algorithm string) bool {
	all := schedule.Algorithms()
	i := slices.IndexFunc(all, func(a schedule.Algorithm) bool { return a.Name == algorithm })
	return i >= 0 && all[i].Multicasts()
}

// errLoss returns the error for --loss if nothing is multicast.
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
	return fmt.Errorf("--loss: needs multicasts, which only %s have", words)
}

// quietLink returns the link of a run without multicasts. --loss is an error.
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

// withArticle returns the name of a collective after "a" or "an".
func withArticle(collective string) string {
	if strings.ContainsAny(collective[:min(len(collective), 1)], "aeiou") {
		return "an " + collective
	}
	return "a " + collective
}
