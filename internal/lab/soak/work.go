//go:build linux

package soak

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// work is a sequence of operations on a communicator. All ranks draw the same sequence from a seed,
// and the bytes of every block and message depend on the seed, the operation and the rank. So each
// rank computes itself what it must get.
type work struct {
	comm   *runtime.Comm
	seed   uint64
	random *rand.Rand // the same draws at all ranks
	number uint64     // of the operation
	timed  func(kind string, took time.Duration)

	published uint64   // messages of each rank so far
	taken     []uint64 // messages of each rank that this rank has taken, and its own

	src, dst, want, other []byte // for one operation after the other
}

// newWork returns the work on a communicator. timed is called with the time of each operation.
func newWork(c *runtime.Comm, seed uint64, timed func(kind string, took time.Duration)) (*work, error) {
	w := &work{comm: c, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), timed: timed, taken: make([]uint64, c.Size())}
	return w, c.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte { return answer(q.Data, c.Rank()) }})
}

// sum adds bytes.
var sum = &runtime.Fold{Name: "sum of bytes", Element: 1, Commutes: true, Kernel: addBytes}

func addBytes(dst, a, b []byte) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// operations are the kinds of operations: all collectives that ranks call together, and messages and
// questions of all ranks at once.
func operations() (all []func(*work, context.Context) error) {
	for _, row := range ir.Collectives() {
		if !row.Published && row.Question == 0 {
			all = append(all, func(w *work, ctx context.Context) error { return w.collective(ctx, &row) })
		}
	}
	return append(all, (*work).publish, (*work).ask)
}

// roundLength is the number of operations between two questions whether the work is over.
const roundLength = 16

// until does operations until rank 0 finds that the work is over. The barrier before them lets no rank
// ask before all can answer.
func (w *work) until(ctx context.Context, over func() bool) error {
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	all := operations()
	for last := []byte{0}; ; {
		if w.comm.Rank() == 0 && over() {
			last[0] = 1
		}
		if err := w.comm.Bcast(ctx, last, 0); err != nil {
			return err
		}
		if last[0] == 1 {
			return w.comm.Barrier(ctx)
		}
		for range roundLength {
			w.number++
			if err := all[w.random.IntN(len(all))](w, ctx); err != nil {
				return fmt.Errorf("operation %d: %w", w.number, err)
			}
		}
	}
}

// do calls an operation and takes its time.
func (w *work) do(kind string, call func() error) error {
	began := time.Now()
	err := call()
	if err == nil {
		w.timed(kind, time.Since(began))
	}
	return err
}

// collective calls a collective with blocks of drawn lengths, from a drawn root, and checks them.
func (w *work) collective(ctx context.Context, row *ir.Collective) error {
	call := runtime.Call{Collective: row.Name}
	size, rank := w.comm.Size(), w.comm.Rank()
	if row.Rooted {
		call.Root = w.random.IntN(size)
	}
	if row.Blocks == nil {
		return w.do(row.Name, func() error { return w.comm.Do(ctx, call) })
	}
	bytes := w.random.IntN(1<<w.random.IntN(maxShift) + 1)
	if row.Blocks(size) > 1 {
		bytes /= size
	}
	call.Counted = row.TakesCounts() && w.random.IntN(2) == 0
	length := func(block int) int {
		if call.Counted {
			return bytes >> (block % 3)
		}
		return bytes
	}
	w.fill(&call, row, length)
	if err := w.do(row.Name, func() error { return w.comm.Do(ctx, call) }); err != nil {
		return err
	}
	return w.check(&call, row, row.Wanted(size, call.Root, rank), length)
}

// maxShift bounds the lengths of messages: 64 KiB.
const maxShift = 17

// fill sets the buffers of a call.
func (w *work) fill(call *runtime.Call, row *ir.Collective, length func(block int) int) {
	size, rank := w.comm.Size(), w.comm.Rank()
	w.src, w.dst = w.src[:0], w.dst[:0]
	var held, wanted []int // lengths
	for i := range row.InputBlocks(size) {
		held = append(held, length(i))
		w.src = w.drawn(w.src, length(i), rank, i)
	}
	for i, of := 0, row.Held(size, call.Root, rank); i < of.Count; i++ {
		held = append(held, length(of.At(i)))
		w.src = w.drawn(w.src, length(of.At(i)), 0, of.At(i))
	}
	total := 0
	for i, of := 0, row.Wanted(size, call.Root, rank); i < of.Count; i++ {
		wanted = append(wanted, length(of.At(i)))
		total += length(of.At(i))
	}
	w.dst = slices.Grow(w.dst, total)[:total]
	clear(w.dst)
	call.Src, call.Dst = w.src, w.dst
	if call.Counted {
		call.SrcCounts, call.DstCounts = held, wanted
	}
	if row.Inputs != nil {
		call.Fold = sum
	}
}

// check compares the blocks that the rank has got.
func (w *work) check(call *runtime.Call, row *ir.Collective, wanted ir.Blocks, length func(block int) int) error {
	size, rest := w.comm.Size(), call.Dst
	for i := range wanted.Count {
		block := wanted.At(i)
		n := length(block)
		if row.Inputs == nil {
			w.want = w.drawn(w.want[:0], n, 0, block)
		} else {
			w.want = w.folded(n, row.Folded(size, block), block%row.Inputs(size))
		}
		if !bytes.Equal(rest[:n], w.want) {
			return wrongError(fmt.Sprintf("%s from root %d: block %d of %d bytes is wrong", row.Name, call.Root, block, n))
		}
		rest = rest[n:]
	}
	return nil
}

// wrongError says that a result is wrong.
type wrongError string

func (e wrongError) Error() string { return string(e) }

// folded returns the sum of the contributions of ranks to a block.
func (w *work) folded(bytes, ranks, block int) []byte {
	w.want = w.drawn(w.want[:0], bytes, 0, block)
	for rank := 1; rank < ranks; rank++ {
		w.other = w.drawn(w.other[:0], bytes, rank, block)
		addBytes(w.want, w.want, w.other)
	}
	return w.want
}

// drawn appends the bytes of a block that depend on the operation and a rank.
func (w *work) drawn(to []byte, bytes, rank, block int) []byte {
	return appendDrawn(to, bytes, w.seed, w.number, uint64(rank)<<32|uint64(block))
}

// appendDrawn appends bytes that depend on numbers.
func appendDrawn(to []byte, bytes int, numbers ...uint64) []byte {
	state := uint64(0)
	for _, n := range numbers {
		state = mix(state ^ n)
	}
	begin := len(to)
	to = slices.Grow(to, bytes+7)
	for range (bytes + 7) / 8 {
		state += 0x9e3779b97f4a7c15
		to = binary.LittleEndian.AppendUint64(to, mix(state))
	}
	return to[:begin+bytes]
}

// mix is the last step of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// maxMessage bounds the length of a rootless message, in bytes.
const maxMessage = 16 << 10

// message returns the rootless message of a rank with a number.
func (w *work) message(origin int, number uint64) []byte {
	bytes := int(mix(w.seed^number) % maxMessage)
	return appendDrawn(nil, bytes, w.seed, ^number, uint64(origin))
}

// publish has every rank publish some messages, and take those of all others. A faster rank may have
// published those of its next time already.
func (w *work) publish(ctx context.Context) error {
	count := 1 + w.random.Uint64N(4)
	return w.do("publish", func() error {
		for range count {
			if err := w.comm.Publish(ctx, w.message(w.comm.Rank(), w.published)); err != nil {
				return err
			}
			w.published++
		}
		w.taken[w.comm.Rank()] = w.published
		for slices.Min(w.taken) < w.published {
			m, err := w.comm.Next(ctx)
			if err != nil {
				return err
			}
			if !bytes.Equal(m.Data, w.message(m.Origin, w.taken[m.Origin])) {
				return wrongError(fmt.Sprintf("message %d of rank %d has %d wrong bytes", w.taken[m.Origin], m.Origin, len(m.Data)))
			}
			w.taken[m.Origin]++
		}
		return nil
	})
}

// answer returns the answer of a rank to a question.
func answer(question []byte, rank int) []byte {
	asked := binary.LittleEndian.Uint64(question)
	return appendDrawn(nil, int(asked%512), asked, uint64(rank))
}

// ask has every rank ask a question, which all answer.
func (w *work) ask(ctx context.Context) error {
	question := w.drawn(nil, 8+w.random.IntN(100), w.comm.Rank(), 0)
	var got []byte
	err := w.do("ask", func() (err error) {
		got, err = w.comm.Ask(ctx, question)
		return err
	})
	if err != nil {
		return err
	}
	want := answer(question, 0)
	for rank := 1; rank < w.comm.Size(); rank++ {
		addBytes(want, want, answer(question, rank))
	}
	if !bytes.Equal(got, want) {
		return wrongError(fmt.Sprintf("the answers to a question of %d bytes are wrong", len(question)))
	}
	return nil
}
