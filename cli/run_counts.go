package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// countsFlag is the flag that gives each block its own length, as MPI_Gatherv does.
type countsFlag struct {
	Counts byteCounts `placeholder:"N,…" help:"${counts}"`
}

// countsHelp is the help of --counts for a collective, or for all that take it if row is nil.
func countsHelp(row *ir.Collective) string {
	text := "Bytes of each block, such as 10KB,0,8B, in place of --size."
	switch {
	case row == nil:
		text += " For an alltoall, give a length for each receiving rank, or for all P² blocks."
	case row.Blocks != nil && row.Blocks(3) > 3:
		text += " Give a length for each receiving rank, or for all P² blocks."
	}
	return text
}

// byteCounts are lengths in bytes. It is nil if the flag is not given.
type byteCounts []int64

// UnmarshalText reads lengths such as "10KB,0,5B".
func (c *byteCounts) UnmarshalText(text []byte) error {
	*c = nil
	for _, word := range strings.Split(string(text), ",") {
		var size byteSize
		if err := size.UnmarshalText([]byte(strings.TrimSpace(word))); err != nil {
			return err
		}
		*c = append(*c, int64(size))
	}
	return nil
}

// set sets the lengths of a job with the given number of ranks. The job's size is then the longest
// of them. size is the flag --size, which must be nil if --counts is given.
func (f *countsFlag) set(j *crew.Job, size *byteSize, ranks int) error {
	row := j.Row()
	switch {
	case f.Counts == nil:
		return nil
	case !row.TakesCounts():
		return fmt.Errorf("--counts: %s does not move several blocks", words.WithArticle(row.Name))
	case size != nil:
		return errors.New("--counts and --size: give only one of them")
	}
	blocks := row.Blocks(ranks)
	if n := len(f.Counts); n != ranks && n != blocks {
		needs := fmt.Sprintf("has %s", command.Count(blocks, "block"))
		if blocks != ranks {
			needs += fmt.Sprintf(": give %d lengths, one for each receiving rank, or %d", ranks, blocks)
		}
		return fmt.Errorf("--counts: there are %s, but %s among %s %s", command.Count(n, "length"), words.WithArticle(row.Name), command.Count(ranks, "rank"), needs)
	}
	for _, n := range f.Counts {
		if err := wholeElements(j, "--counts", n); err != nil {
			return err
		}
	}
	j.Counts, j.Size = f.Counts, slices.Max(f.Counts)
	return nil
}

// movedBytes returns the total number of bytes of blocks that ranks want and do not hold.
func movedBytes(j *crew.Job) (n int64) {
	row, ranks, root := j.Row(), j.Params.Ranks, j.Params.Root
	for rank := range ranks {
		held, wanted := row.Held(ranks, root, rank), row.Wanted(ranks, root, rank)
		for i := range wanted.Count {
			if block := wanted.At(i); held.Index(block) < 0 {
				n += j.Length(block)
			}
		}
	}
	return n
}

// lengths spells the length of the blocks, or the least and the greatest length.
func lengths(j *crew.Job) string {
	if j.Counts == nil {
		return byteSize(j.Size).String()
	}
	least, most := byteSize(slices.Min(j.Counts)), byteSize(j.Size)
	if least == most {
		return most.String()
	}
	return fmt.Sprintf("%v to %v", least, most)
}

// mostBytes returns the bytes of the largest buffer of a rank, or an error if that is too large.
func mostBytes(j *crew.Job, ranks, root int) (most int64, err error) {
	row, limit := j.Row(), int64(min(maxMessage, math.MaxInt))
	for rank := range ranks {
		has := row.Held(ranks, root, rank)
		if row.Inputs != nil {
			has = ir.Blocks{Step: 1, Count: row.SourceBlocks(ranks, root, rank)}
		}
		for _, of := range []ir.Blocks{has, row.Wanted(ranks, root, rank)} {
			if j.Counts == nil && j.Size > limit/int64(max(1, of.Count)) {
				return 0, fmt.Errorf("--size=%v: a rank has %s of that size; at most %v in total are allowed", byteSize(j.Size), command.Count(of.Count, "block"), byteSize(limit))
			}
			sum := int64(0)
			for i := range of.Count {
				n := j.Length(of.At(i))
				if n > limit-sum {
					return 0, fmt.Errorf("--counts: a rank has %s of more than %v in total", command.Count(of.Count, "block"), byteSize(limit))
				}
				sum += n
			}
			most = max(most, sum)
		}
	}
	return max(most, j.Size), nil
}

// chosenFor returns the length of a block for which the rules choose an algorithm, as the runtime
// does: the longest length, or a long one if not all ranks know all lengths.
func chosenFor(j *crew.Job, ranks int) int64 {
	const long = 1 << 20
	if j.Apart() && !j.Row().Everywhere(ranks, 0) {
		return long
	}
	return j.Size
}

// relayed returns the error for a schedule in which ranks pass on blocks whose lengths they do not
// know. name is the algorithm or file; hosts tells whether --hosts is in effect.
func relayed(j *crew.Job, name string, hosts bool, ranks int) error {
	with, without := "", ""
	if hosts {
		with, without = " with --hosts", " without --hosts"
	}
	names := direct(j, candidates(j.Collective, true), ranks)
	err := fmt.Errorf("--counts: in %s ranks pass on blocks whose lengths they do not know", name+with)
	if len(names) > 0 {
		err = fmt.Errorf("%w; use %s", err, strings.Join(names, " or ")+without)
	}
	return err
}

// direct returns the algorithms that can serve the job's blocks. If ranks know only the lengths of
// their own blocks, these are the algorithms that bring no rank a block which it neither holds nor
// wants.
func direct(j *crew.Job, algorithms []string, ranks int) []string {
	return slices.DeleteFunc(algorithms, func(name string) bool {
		spec, err := schedule.New(name, schedule.Params{Ranks: ranks})
		_, refused := errors.AsType[*schedule.Refusal](err)
		return refused || j.Apart() && err == nil && spec.Relays()
	})
}

// takeDirect replaces the algorithm that the rules have chosen, if it cannot serve the job's
// blocks, by the first algorithm that can, as the runtime does.
func (f *runFlags) takeDirect(j *crew.Job, ranks int) {
	if len(direct(j, []string{f.Algorithm}, ranks)) > 0 {
		return
	}
	if serve := direct(j, candidates(j.Collective, j.Link.Multicasts()), ranks); len(serve) > 0 {
		f.Algorithm, f.picked = serve[0], selection.Params{}
		j.Algorithm = f.Algorithm
	}
}
