package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// countsFlag gives each block a length of its own, as in MPI's gatherv and its like.
type countsFlag struct {
	Counts byteCounts `placeholder:"N,…" help:"Bytes of each block, such as 10KB,0,5B, in place of --size; of an alltoall for each rank that a block goes to, or for all P² blocks."`
}

// byteCounts are lengths with units, separated by commas; nil if the flag is not given.
type byteCounts []int64

// UnmarshalText reads "10KB,0,5B".
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

// set puts the lengths into a job that has as many ranks, whose size is the longest of them then.
// size is the flag --size, which must not be given beside them.
func (f *countsFlag) set(j *job, size *byteSize, ranks int) error {
	row := rowOf(j.Collective)
	switch {
	case f.Counts == nil:
		return nil
	case row.Blocks == nil || row.Blocks(2) < 2 || row.Inputs != nil:
		return fmt.Errorf("--counts: %s does not move several blocks that are what they were", withArticle(row.Name))
	case size != nil:
		return errors.New("--counts and --size: give one of them")
	}
	blocks := row.Blocks(ranks)
	if n := len(f.Counts); n != ranks && n != blocks {
		needs := fmt.Sprintf("has %s", count(blocks, "block"))
		if blocks != ranks {
			needs += fmt.Sprintf(": give %d lengths, one for each rank that a block goes to, or %d", ranks, blocks)
		}
		return fmt.Errorf("--counts: there are %s, but %s among %s %s", count(n, "length"), withArticle(row.Name), count(ranks, "rank"), needs)
	}
	j.Counts, j.Size = f.Counts, slices.Max(f.Counts)
	return nil
}

// length returns the bytes of a block.
func (j *job) length(block int) int64 {
	if j.Counts == nil {
		return j.Size
	}
	return j.Counts[block%len(j.Counts)]
}

// lengths says how long the blocks are.
func (j *job) lengths() string {
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
func (j *job) mostBytes(ranks, root int) (most int64, err error) {
	row, limit := rowOf(j.Collective), int64(min(maxMessage, math.MaxInt))
	for rank := range ranks {
		has := row.Held(ranks, root, rank)
		if row.Inputs != nil {
			has = contributed(row, ranks, root, rank)
		}
		for _, of := range []ir.Blocks{has, row.Wanted(ranks, root, rank)} {
			if j.Counts == nil && j.Size > limit/int64(max(1, of.Count)) {
				return 0, fmt.Errorf("--size=%v: a rank has %s of that size, and at most %v in all", byteSize(j.Size), count(of.Count, "block"), byteSize(limit))
			}
			sum := int64(0)
			for i := range of.Count {
				n := j.length(of.At(i))
				if n > limit-sum {
					return 0, fmt.Errorf("--counts: a rank has %s of more than %v in all", count(of.Count, "block"), byteSize(limit))
				}
				sum += n
			}
			most = max(most, sum)
		}
	}
	return max(most, j.Size), nil
}

// chosenFor returns for how many bytes the rules choose an algorithm: for those of a block, the longest of
// them, or, where not all ranks know how long that is, for a long one, as the runtime does.
func (j *job) chosenFor(ranks int) int64 {
	const long = 1 << 20
	if j.Counts != nil && !rowOf(j.Collective).Everywhere(ranks, 0) {
		return long
	}
	return j.Size
}

// relayed is the error for a schedule of that name, perhaps with hosts, in which ranks pass on blocks of
// which they do not know the length.
func (j *job) relayed(name string, hosts bool, ranks int) error {
	with, without := "", ""
	if hosts {
		with, without = " with --hosts", " without --hosts"
	}
	names := j.direct(candidates(j.Collective, true), ranks)
	err := fmt.Errorf("--counts: in %s ranks pass on blocks whose lengths they do not know", name+with)
	if len(names) > 0 {
		err = fmt.Errorf("%w; in %s they do not", err, strings.Join(names, " and ")+without)
	}
	return err
}

// direct returns those of the algorithms that serve the job's blocks: where these have lengths of their
// own, those that bring no rank a block that it neither holds nor wants.
func (j *job) direct(algorithms []string, ranks int) []string {
	return slices.DeleteFunc(algorithms, func(name string) bool {
		spec, err := schedule.New(name, schedule.Params{Ranks: ranks})
		return j.Counts != nil && err == nil && spec.Relays()
	})
}

// takeDirect replaces the algorithm that the rules have chosen for a job by the first that serves its
// blocks, if it does not serve them itself, as the runtime does.
func (f *runFlags) takeDirect(j *job, ranks int) {
	if len(j.direct([]string{f.Algorithm}, ranks)) > 0 {
		return
	}
	if serve := j.direct(candidates(j.Collective, j.Link.multicasts()), ranks); len(serve) > 0 {
		f.Algorithm, f.picked = serve[0], selection.Params{}
		j.Algorithm = f.Algorithm
	}
}
