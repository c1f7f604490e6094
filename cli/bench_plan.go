package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// plan returns a job for each algorithm to measure. base holds the part that all jobs share.
func (c *benchCmd) plan(ctx context.Context, base *crew.Job, std terminal.Stdio) ([]crew.Job, error) {
	row := rowOf(base.Collective)
	flags := source.Flags{Chunks: c.Chunks, TreeFlags: c.TreeFlags}
	flags.DropIdle(row.Name, std)
	if c.Rules != "" || c.Network != "" {
		size := base.Size
		if row.Published {
			size = 0 // one algorithm serves all lengths
		}
		of, err := c.caseOf(row, size, &base.Link, nil)
		if err != nil {
			return nil, err
		}
		if err := c.choose(ctx, std, base, of); err != nil {
			return nil, err
		}
		if c.Ranks != nil {
			c.takeDirect(base, c.Ranks.Lo)
		}
	}
	names := []string{c.Algorithm}
	if c.Algorithm == "" {
		if len(flags.List()) > 0 {
			return nil, errors.New("--" + flags.List()[0].Name + ": needs --algorithm")
		}
		names = candidates(row.Name, base.Link.Multicasts())
		if c.Ranks != nil {
			names = direct(base, names, c.Ranks.Lo)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("there is no algorithm for %s", words.WithArticle(row.Name))
		}
	}
	var jobs []crew.Job
	for _, name := range names {
		c.Algorithm = name
		p, err := c.params(row.Name, flags)
		if err != nil {
			return nil, err
		}
		spec, err := source.New(name, p)
		if err == nil && len(names) > 1 && spec.Registered() && !spec.Unverified() {
			var r *refutation
			if _, err = prove(spec.Schedule()); errors.As(err, &r) {
				err = fmt.Errorf("%s: %w", name, r.report.Err())
			}
		} else if _, wrong := errors.AsType[*schedule.BuildError](err); err != nil && !(wrong && len(names) > 1) {
			return nil, err
		}
		if err != nil { // one algorithm of the program's own must not hinder the others
			fmt.Fprintf(std.Err, "schedgen: left out: %v\n", err)
			continue
		}
		if base.Apart() && spec.Relays() {
			return nil, relayed(base, name, p.Hosts > 0, p.Ranks)
		}
		if p.Chunks == 0 && c.picked.Chunk > 0 {
			p.Chunks = selection.Chunks(selection.Message{
				Algorithm: name, Ranks: p.Ranks, Blocks: row.Blocks(p.Ranks), Bytes: int(base.Size), Most: c.picked.Chunk,
			})
		}
		j := *base
		j.Algorithm, j.Params = name, p
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// candidates returns the algorithms of a collective that make sense over a transport. Without
// multicast it leaves out the algorithms that multicast: they would have to repair every message.
func candidates(collective string, multicast bool) []string {
	var names []string
	for _, a := range schedule.AlgorithmsOf(collective) {
		if multicast || !a.Multicasts() {
			names = append(names, a.Name)
		}
	}
	return names
}
