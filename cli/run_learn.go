package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/runtime"
)

// learnFlag lets the ranks choose the algorithm while they run.
type learnFlag struct {
	Learn string `placeholder:"FILE" complete:"file" help:"Choose the algorithm by the times of the first operations, and write rules for --rules to FILE."`
}

// set makes the ranks of a job learn. algorithm is what --algorithm names, and flags are those for
// parameters of algorithms.
func (f *learnFlag) set(j *crew.Job, algorithm string, fromFile bool, flags source.Flags) error {
	if f.Learn == "" {
		return nil
	}
	flags.Root, flags.Origin = nil, nil
	switch given := flags.List(); {
	case fromFile:
		return errors.New("--learn: the schedule of a file runs in place of an algorithm")
	case algorithm != "":
		return errors.New("--learn: --algorithm names the algorithm")
	case len(given) > 0:
		return fmt.Errorf("--%s: the ranks choose it themselves with --learn", given[0].Name)
	case j.Counts != nil:
		return errors.New("--learn: nothing is learned about blocks of different lengths: leave out --counts")
	}
	var err error
	if j.Learn, err = filepath.Abs(f.Learn); err == nil {
		_, err = os.Stat(filepath.Dir(j.Learn)) // the file itself is written at the end
	}
	if err != nil {
		return fmt.Errorf("--learn: %w", err)
	}
	return nil
}

// learnIterations is how many operations ranks that learn do at least by default.
const learnIterations = 200

// learnedBy returns what rank 0 has learned.
func learnedBy(t *crew.Tally) []runtime.Learned {
	if o := t.Ranks[0].Outcome; o != nil {
		return o.Learned
	}
	return nil
}

// writeLearned prints what the ranks of a job have learned.
func writeLearned(w io.Writer, j *crew.Job, all []runtime.Learned) {
	if j.Learn == "" {
		return
	}
	if !slices.ContainsFunc(all, func(l runtime.Learned) bool { return l.Collective == j.Collective }) {
		fmt.Fprintf(w, "learned: nothing about %s: no other algorithm can run, or is known to give the same bits\n", j.Collective)
	}
	for i := range all {
		l := &all[i]
		var tried []string
		for _, of := range l.Tried {
			words := of.Algorithm
			if of.Degree > 0 {
				words += fmt.Sprintf(" degree=%d", of.Degree)
			}
			tried = append(tried, words+" "+spell(of.Time))
		}
		of := l.Collective
		if row := rowOf(l.Collective); hasMessage(row) {
			of += " of up to " + byteSize(l.Bytes).String()
		}
		switch {
		case l.Trials == 0:
			fmt.Fprintf(w, "learned: nothing about %s: a trial takes more than %d operations\n", of, l.Calls)
			continue
		case l.Less() > 0:
			of += fmt.Sprintf(": %s takes %d %% less than the choice of the rules", l.Algorithm, l.Less())
		default:
			of += ": " + l.Algorithm + ", as the rules choose"
		}
		fmt.Fprintf(w, "learned: %s; tried %s\n", of, strings.Join(tried, ", "))
	}
}
