package compare

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/schedule"
)

// The sides of a comparison.
const (
	ours = "ours"
	peer = "peer"
	raw  = "limit" // the system without any library
)

// contender is one way to do the operation of a cell.
type contender struct {
	side  string
	name  string
	own   bool     // the library chooses this contender by default
	args  []string // program and arguments, without iterations
	env   []string // added to the environment of the process
	tail  func(iterations int, limit time.Duration) []string
	parse func(line string) (bench.Times, bool)
}

// command returns the program and arguments of one measurement.
func (c *contender) command(iterations int, limit time.Duration) []string {
	return append(slices.Clone(c.args), c.tail(iterations, limit)...)
}

// contenders returns the contenders of a cell: schedgen's algorithms, and the peers that are
// installed.
func (b *built) contenders(c cell) []contender {
	out := b.ourContenders(c)
	if b.openMPI != "" {
		out = append(out, b.openMPIs(c)...)
	}
	if b.mpich != "" {
		out = append(out, b.mpichs(c)...)
	}
	return out
}

// choice is one of schedgen's algorithms with flags.
type choice struct {
	algorithm string
	flags     []string
}

// barriers returns the algorithms of barriers with their defaults, and with fans and degrees of
// two, because the defaults are flat up to 16 ranks. The barrier that multicasts also comes flat
// with more ranks.
var barriers = []choice{
	{"barrier/hsb", nil}, {"barrier/exchange", nil}, {"barrier/dissemination", nil},
	{"barrier/hsb", []string{"--fan-in", "2", "--fan-out", "2"}},
	{"barrier/exchange", []string{"--degree", "2"}},
	{"barrier/dissemination", []string{"--degree", "2"}},
	{"barrier/hsb-mcast", nil},
	{"barrier/hsb-mcast", []string{"--fan-in", strconv.Itoa(flatFan)}},
}

// flatFan is a fan larger than the number of ranks, which makes a tree flat. Up to flatUpTo ranks,
// trees are flat by default.
const (
	flatFan  = 64
	flatUpTo = 16
)

var broadcasts = []choice{
	{"bcast/linear", nil}, {"bcast/binomial", nil}, {"bcast/chain", nil}, {"bcast/symmetric", nil},
	{"bcast/mcast-chain", nil}, {"bcast/mcast-acktree", nil},
}

func (b *built) ourContenders(c cell) []contender {
	choices := broadcasts
	switch {
	case c.op == opBarrier:
		choices = barriers
	case movesBlocks(c.op) || folds(c.op):
		choices = algorithmsOf(c.op)
	}
	var out []contender
	for _, transport := range transports(c.wire) {
		for _, choice := range choices {
			casts, rooted := strings.Contains(choice.algorithm, "mcast"), c.op != opBarrier && !movesBlocks(c.op) && !folds(c.op)
			if transport == "tcp" && casts || transport == "mcast" && !casts && !rooted || isTwin(c, choice) {
				continue
			}
			out = append(out, b.ourContender(c, transport, choice))
		}
	}
	return out
}

// algorithmsOf returns all algorithms of a collective.
func algorithmsOf(collective string) (all []choice) {
	for _, a := range schedule.Algorithms() {
		if a.Collective == collective {
			all = append(all, choice{algorithm: a.Name})
		}
	}
	return all
}

// transports returns schedgen's transports over a wire.
func transports(wire string) []string {
	if wire == wireShm {
		return []string{"shm"}
	}
	return []string{"tcp", "mcast"}
}

// isTwin reports whether another choice does the same. With two ranks every barrier is flat, and
// all broadcasts by puts are the same, except for the number of chunks: bcast/linear and
// bcast/symmetric have one, and the others have several for a long message, unless the root lends
// it.
func isTwin(c cell, choice choice) bool {
	switch {
	case movesBlocks(c.op) || folds(c.op):
		return false
	case slices.Contains(choice.flags, strconv.Itoa(flatFan)):
		return c.ranks <= flatUpTo
	case c.ranks != 2:
		return false
	case c.op == opBarrier:
		return len(choice.flags) > 0
	}
	switch choice.algorithm {
	case "bcast/symmetric", "bcast/chain":
		return true
	case "bcast/binomial":
		return c.bytes <= oneChunk || c.wire == wireShm
	}
	return false
}

// oneChunk is the largest number of bytes that are one chunk over any transport.
const oneChunk = 4 << 10

func (b *built) ourContender(c cell, transport string, choice choice) contender {
	args := []string{b.Path(program.Schedgen), "bench", c.op, "-p", strconv.Itoa(c.ranks), "--transport", transport, "--algorithm", choice.algorithm, "--json"}
	if c.op != opBarrier {
		args = append(args, "--size", strconv.Itoa(c.bytes)+"B")
	}
	name := contenderName(transport, choice)
	return contender{
		side: ours, name: name, own: name == standardName(c, transport), args: append(args, choice.flags...), parse: bench.Parse,
		tail: func(n int, limit time.Duration) []string {
			return []string{"--iterations", strconv.Itoa(n), "--timeout", limit.String()}
		},
	}
}

// pipelineFrom is the size in bytes from which Open MPI's pipeline, in segments of 16 KiB, differs
// from a chain.
const pipelineFrom = 32 << 10

func (b *built) openMPIs(c cell) []contender {
	args := []string{b.openMPI, "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1"}
	if c.wire == wireTCP {
		args = append(args, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")
	} else {
		args = append(args, "--mca", "btl", "vader,self")
	}
	plain := b.mpi("openmpi", c, args, b.microOpenMPI)
	plain.env = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	if c.bytes < pipelineFrom || movesBlocks(c.op) || folds(c.op) {
		return []contender{plain}
	}
	chosen := append(slices.Clone(args), "--mca", "coll_tuned_use_dynamic_rules", "1",
		"--mca", "coll_tuned_bcast_algorithm", "3", "--mca", "coll_tuned_bcast_algorithm_segmentsize", "16384")
	pipeline := b.mpi("openmpi pipeline", c, chosen, b.microOpenMPI)
	pipeline.env = plain.env
	return []contender{plain, pipeline}
}

// mpichs returns MPICH with a shim that yields the processor, and MPICH without it if every rank
// has a core.
func (b *built) mpichs(c cell) []contender {
	var env []string
	if c.wire == wireTCP {
		env = []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo", "MPIR_CVAR_NOLOCAL=1"}
	}
	var out []contender
	if c.ranks <= goruntime.NumCPU() {
		out = append(out, b.mpi("mpich", c, []string{b.mpich}, b.microMPICH))
	}
	out = append(out, b.mpi("mpich yield", c, []string{b.mpich, "-genv", "LD_PRELOAD", b.yield}, b.microMPICH))
	for i := range out {
		out[i].env = env
	}
	return out
}

func (b *built) mpi(name string, c cell, launch []string, micro string) contender {
	return contender{
		side: peer, name: name, parse: parsePeer,
		args: append(slices.Clone(launch), "-np", strconv.Itoa(c.ranks), micro, c.op, strconv.Itoa(c.bytes)),
		tail: func(n int, limit time.Duration) []string {
			return []string{strconv.Itoa(n), strconv.Itoa(warmups(n)), fmt.Sprintf("%.0f", limit.Seconds())}
		},
	}
}
