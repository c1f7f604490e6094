package runtime

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/outfile"
	"github.com/schedgen/schedgen/schedule/selection"
)

// learnedFile is what the communicators of a driver have learned, for the file of Config.Learn. The
// last one to close writes it, if this process is rank 0 of the first communicator, or of one that
// Shrink has made from it.
type learnedFile struct {
	rules []selection.Rule
	from  learner // of the last communicator for which this process writes; nil: another process does
}

// add takes the rules of c, which closes.
func (f *learnedFile) add(c *Comm) {
	if c.learned == nil {
		return
	}
	f.rules = append(f.rules, c.learned.rules()...)
	if c.number == 0 && c.rank == 0 {
		f.from = c.learned
	}
}

// write writes the file: the rules that have been learned, and then those of Config.
func (f *learnedFile) write() error {
	if f.from == nil {
		return nil
	}
	return f.from.write(f.rules)
}

func (ls *lessons) write(rules []selection.Rule) error {
	cfg := &ls.c.cfg
	base := cfg.Rules
	if cfg.Network != nil {
		base = cfg.elsewhere
	}
	table, err := selection.Over(rules, base)
	if err == nil {
		err = outfile.Write(cfg.Learn, func(w io.Writer) error {
			_, err := w.Write(table.Text())
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("Config.Learn: %s: %w", cfg.Learn, err)
	}
	return nil
}
