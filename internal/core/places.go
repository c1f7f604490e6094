package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// places says where the chunks of an operation lie at one rank. The collective's row determines it.
// A block that the rank wants lies in its output. Another block that it holds lies in its input. A
// block that it only relays lies in memory of the core. In a collective that folds, the rank's
// contribution comes first in the input.
type places struct {
	blocks       int // blocks of the operation
	per          int // chunks of a block
	held, wanted ir.Chunks
	inputs       int    // blocks that the rank contributes
	whole        bool   // there is one block, and the rank wants it
	relayed      []int  // blocks that the rank relays, ascending
	kept         []both // blocks that the rank both holds and wants
	folds        bool   // there are contributions or partial results
	cells        cells
	wantedBy     func(rank int) ir.Chunks
	heldBy       func(rank int) ir.Chunks
}

// both holds the indices of a block in the input and in the output.
type both struct{ held, wanted int }

// placesOf returns the places of a rank with the given program.
func placesOf(h *ir.Header, program *machine.Plan) places {
	outline := program.Outline()
	rank := outline.Rank
	pl := places{blocks: h.Blocks(), per: h.BlockChunks(), held: h.Held(rank), wanted: h.Wanted(rank), cells: cellsOf(&outline, program.Parts())}
	pl.folds = h.Folds() || len(pl.cells.of) > 0
	pl.inputs = h.Row().InputBlocks(h.Ranks)
	header := *h
	pl.wantedBy, pl.heldBy = header.Wanted, header.Held
	if pl.whole = pl.blocks == 1 && pl.wanted.Count == 1; pl.blocks == 0 {
		return pl
	}
	for i := range outline.Rules {
		for _, a := range outline.Rules[i].Do {
			for _, s := range [2]ir.Slot{a.Slot, a.As} {
				if block := s.Index() / pl.per; s.Kind() == ir.KindChunk && pl.wanted.Index(block) < 0 && pl.held.Index(block) < 0 {
					pl.relayed = append(pl.relayed, block)
				}
			}
		}
	}
	for i := range pl.held.Count {
		if to := pl.wanted.Index(pl.held.At(i)); to >= 0 {
			pl.kept = append(pl.kept, both{pl.inputs + i, to})
		}
	}
	slices.Sort(pl.relayed)
	pl.relayed = slices.Compact(pl.relayed)
	return pl
}

// of returns the place of a slot.
func (pl *places) of(s ir.Slot) place {
	k := s.Index()
	switch {
	case s.Kind() == ir.KindValue:
		return place{areaCells, int(pl.cells.of[k]), 0}
	case pl.whole && s.Kind() == ir.KindChunk:
		return place{areaOut, 0, k}
	}
	block, part := k, 0
	if pl.per > 1 {
		block, part = k/pl.per, k%pl.per
	}
	if s.Kind() == ir.KindInput {
		return place{areaIn, block, part}
	}
	if i := pl.wanted.Index(block); i >= 0 {
		return place{areaOut, i, part}
	}
	if i := pl.held.Index(block); i >= 0 {
		return place{areaIn, pl.inputs + i, part}
	}
	i, found := slices.BinarySearch(pl.relayed, block)
	if !found { // the schedule brings the rank a block that it does not use
		i = len(pl.relayed)
	}
	return place{areaRelay, i, part}
}
