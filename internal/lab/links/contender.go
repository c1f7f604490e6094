//go:build linux

package links

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
)

// contender is a schedule for a collective on a given network: one that is made for the network,
// one of a file, or an algorithm.
type contender struct {
	name    string // as --algorithm gives it
	made    string // file with a schedule that was made for the network; "": none
	ran     string // name of the schedule that ran
	rounds  []times
	outcome // of all rounds
}

// Names of contenders. Words behind the first one are flags of schedgen synth.
const (
	bySynth  = "synth"
	byChoice = "choice" // the library's
)

// collectives are the collectives that are measured on a given network by default.
var collectives = []string{"allgather", "bcast", "allreduce"}

// contenders are the default contenders of each collective.
var contenders = map[string][]string{
	"allgather": {
		"synth --pieces 8", "synth --pieces 8 --window 4", "synth --pieces 8 --spread", "synth --pieces 8 --window 4 --spread",
		"allgather/ring", "allgather/linear", "allgather/bruck", byChoice,
	},
	"bcast": {
		"synth --pieces 24", "synth --pieces 24 --spread",
		"bcast/chain", "bcast/binomial", "bcast/scatter-allgather", byChoice,
	},
	"allreduce": {
		"synth --pieces 8", "synth --pieces 8 --spread",
		"allreduce/ring", "allreduce/halving", "allreduce/two-shot", "allreduce/star", byChoice,
	},
}

// isMade reports whether the contender is a schedule that is made for the network.
func (c *contender) isMade() bool {
	words := strings.Fields(c.name)
	return len(words) > 0 && words[0] == bySynth
}

// parseContender accepts an algorithm, the name of a file, a schedule to make, or the choice of the
// library.
func parseContender(name string) error {
	c := contender{name: name}
	if name == byChoice || c.isMade() {
		return nil
	}
	if _, err := parseAlgorithm(name); err == nil {
		return nil
	}
	_, err := collectiveOf(name)
	return err
}

// collectiveOf returns the collective of an algorithm or of a file with a schedule.
func collectiveOf(name string) (string, error) {
	if _, err := parseAlgorithm(name); err == nil {
		return cell{algorithm: name}.collective(), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither %q, %q, an algorithm that moves blocks nor a file: %w", name, bySynth, byChoice, err)
	}
	defer f.Close() // read only: nothing to lose
	head, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return "", err
	}
	if look := forms.Look(head); look.Form.IsSchedule() && look.Collective != "" {
		return look.Collective, nil
	}
	return "", fmt.Errorf("%s holds no schedule that names its collective", name)
}

// contendersOf returns the contenders of a collective.
func (v *Verb) contendersOf(collective string) (all []*contender) {
	names := contenders[collective]
	if v.Algorithm != nil {
		names = v.Algorithm
	} else if names == nil {
		names = []string{"synth --pieces 8", byChoice}
	}
	for _, name := range names {
		c := &contender{name: name}
		if of, err := collectiveOf(name); name == byChoice || c.isMade() || err == nil && of == collective {
			all = append(all, c)
		}
	}
	return all
}

// make makes the schedule for the network, if the contender wants one, in a new file.
func (c *contender) make(ctx context.Context, programs program.Programs, network, collective string, number int) error {
	if !c.isMade() {
		return nil
	}
	c.made = programs.Path(fmt.Sprintf("made-%d.txt", number))
	args := slices.Concat([]string{"synth", collective, network}, strings.Fields(c.name)[1:], []string{"-o", c.made})
	out, err := exec.CommandContext(ctx, programs.Path(program.Schedgen), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, program.FirstLineOf(string(out)))
	}
	return nil
}

// args returns the arguments of schedgen rank that choose the schedule.
func (c *contender) args(collective string) []string {
	switch _, err := parseAlgorithm(c.name); {
	case c.made != "":
		return []string{collective, c.made}
	case c.name == byChoice:
		return []string{collective}
	case err == nil:
		return []string{collective, "--algorithm", c.name}
	}
	return []string{collective, c.name}
}

// run measures one round of the contender. After a failure there are no more rounds.
func (c *contender) run(ctx context.Context, measure func(args []string, parse func([]byte) (times, error)) (times, error), collective string) {
	if c.failed != "" {
		return
	}
	t, err := measure(c.args(collective), func(text []byte) (times, error) {
		var o struct{ Proved struct{ Schedule string } }
		if err := json.Unmarshal(text, &o); err != nil {
			return times{}, fmt.Errorf("the outcome cannot be read: %w", err)
		}
		c.ran, _, _ = strings.Cut(o.Proved.Schedule, " ")
		return parseTimes(text)
	})
	if err != nil {
		c.outcome = outcomeOf(times{}, err)
		return
	}
	c.rounds = append(c.rounds, t)
	c.times = together(c.rounds)
}

// together returns the least time, the median of medians and the longest time of rounds.
func together(rounds []times) times {
	all := times{min: rounds[0].min}
	var medians []float64
	for _, t := range rounds {
		all.min, all.max = min(all.min, t.min), max(all.max, t.max)
		medians = append(medians, t.median)
	}
	slices.Sort(medians)
	all.median = medians[(len(medians)-1)/2]
	return all
}
