package build

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Builder makes the schedule of one operation. A function that is given a Builder must not keep it.
type Builder struct {
	h ir.Header

	pieces list[piece]
	steps  list[step]
	of     list[int32] // the pieces of all steps
	taken  []int32     // see operands

	late  map[int32][]int32 // by piece: what a rank waits for besides, see After
	where map[int32]uintptr // by step: the call, if it may be wrong
	names map[int32]string  // by piece

	results []marks // by rank: the chunks that have a result
	ended   bool
}

// MaxActions is the largest number of pieces, and of steps, that a Builder takes.
const MaxActions = 1 << 25

// Piece is a piece of data that is at one rank at some time, or a sign that something has happened
// at the rank, such as the arrival of a signal. It is valid while the function runs that was given
// the Builder.
type Piece struct {
	b  *Builder
	id int32
}

// piece is a piece, by its number.
type piece struct {
	rank int32
	kind kind
	part int32   // the chunk; of a contribution and what is folded from it, the part of the vector
	slot ir.Slot // None until the schedule is written, unless the slot is known before
	src  int32   // the piece from which it was put, multicast or postponed, or -1
	made int32   // the step that makes it, or -1
}

type kind uint8

const (
	held    kind = iota // a chunk that the rank holds at enter
	input               // a part of the rank's contribution
	chunk               // a chunk that came
	partial             // a partial result, or a result
	signal
	enter
)

// step is something that a rank does, in the order of the calls.
type step struct {
	do    doing
	rank  int32 // the rank that does it
	to    int32 // where a message or signal goes
	first int32 // the pieces of[first:first+n] are its operands
	n     int32
	out   int32 // the first of the pieces that it makes, one for each operand or rank
	after int32 // of a repair
}

type doing uint8

const (
	puts doing = iota
	multicasts
	folds
	signals
	repairs
	results
	dones
)

// Schedule returns the schedule with header h that write describes. h.Algorithm is the name after the
// slash, and h.Chunks counts the chunks of all blocks. The error says which call of write is wrong,
// with its file and line, or that write has panicked. A piece that nothing uses is an error, too.
func Schedule(h ir.Header, write func(*Builder)) (s *ir.Schedule, err error) {
	if write == nil {
		return nil, errors.New("no function")
	}
	if err := ir.Validate(&ir.Schedule{Header: h, Programs: empty(h.Ranks)}); err != nil {
		return nil, err
	}
	b := &Builder{h: h}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *misuse:
			s, err = nil, e
		case *Refusal:
			s, err = nil, e
		default:
			s, err = nil, fmt.Errorf("%s panicked: %v", caller(), e)
		}
	}()
	write(b)
	b.ended = true
	s = b.schedule()
	if err := ir.Validate(s); err != nil {
		return nil, err
	}
	return s, nil
}

func empty(ranks int) []ir.Program {
	if ranks < 1 || ranks > ir.MaxRanks {
		return nil
	}
	programs := make([]ir.Program, ranks)
	for rank := range programs {
		programs[rank] = ir.Program{Rank: rank, Done: []ir.Slot{ir.Enter}}
	}
	return programs
}

// misuse is a wrong call.
type misuse struct{ text string }

func (e *misuse) Error() string { return e.text }

// fail ends the function that was given the Builder.
func (b *Builder) fail(format string, args ...any) {
	panic(&misuse{caller() + ": " + fmt.Sprintf(format, args...)})
}

// Refusal is the error of [Schedule] after a call of [Builder.Refuse].
type Refusal struct {
	Reason string // such as "6 ranks are no power of two"
}

// Error returns the reason.
func (e *Refusal) Error() string { return e.Reason }

// Refuse ends the function with a [Refusal], because the algorithm does not exist for these
// parameters: b.Refuse("%d ranks are no power of two", b.Ranks()).
func (b *Builder) Refuse(format string, args ...any) {
	panic(&Refusal{fmt.Sprintf(format, args...)})
}

// Ranks returns the number of ranks, P.
func (b *Builder) Ranks() int { return b.h.Ranks }

// Root returns the root, or 0 if the collective has none.
func (b *Builder) Root() int { return b.h.Root }

// Chunks returns the number of chunks of all blocks together, as in [ir.Header].
func (b *Builder) Chunks() int { return b.h.Chunks }

// Blocks returns the number of blocks, 0 for a barrier. Block i is the chunks i·F … i·F+F-1, if F
// is Chunks divided by Blocks.
func (b *Builder) Blocks() int { return b.h.Blocks() }

// Hosts returns the number of hosts among which the ranks are divided, or Ranks if the schedule has
// no parameter hosts.
func (b *Builder) Hosts() int {
	for _, p := range b.h.Params {
		if p.Name == "hosts" {
			return p.Value
		}
	}
	return b.h.Ranks
}

// Host returns the host of rank, 0 … Hosts-1. The ranks of a host follow each other, and the hosts
// have as many ranks as possible alike: rank r is on host ⌊r·Hosts/Ranks⌋.
func (b *Builder) Host(rank int) int {
	b.checkRank(rank)
	return rank * b.Hosts() / b.h.Ranks
}

// Param returns a parameter of the schedule by its name: root, chunks (of a block), hosts, degree,
// fan-in or fan-out.
func (b *Builder) Param(name string) int {
	switch {
	case name == "root" && b.h.Rooted():
		return b.h.Root
	case name == "chunks" && b.h.HasMessage():
		return b.h.BlockChunks()
	case name == "hosts":
		return b.Hosts()
	}
	for _, p := range b.h.Params {
		if p.Name == name {
			return p.Value
		}
	}
	b.fail("Param(%q): %s has no such parameter", name, b.h.Name())
	return 0
}

// Chunk returns chunk k, 0 ≤ k < Chunks, that rank holds at enter. In a collective that folds it is
// the rank's contribution to chunk k. In a barrier it is a chunk without bytes that the rank may
// multicast.
func (b *Builder) Chunk(rank, k int) Piece {
	b.checkRank(rank)
	switch {
	case b.h.Chunks == 0:
		b.fail("Chunk(%d, %d): there are no chunks", rank, k)
	case k < 0 || k >= b.h.Chunks:
		b.fail("Chunk(%d, %d): the chunks are 0 … %d", rank, k, b.h.Chunks-1)
	case b.h.Folds() && k >= b.h.QuestionChunks():
		return b.piece(piece{rank: int32(rank), kind: input, part: int32(b.h.InputOf(k)), slot: ir.Input(b.h.InputOf(k)), src: -1, made: -1})
	case b.h.HasMessage() && !b.h.Holds(rank, k):
		b.fail("Chunk(%d, %d): rank %d does not hold chunk %d at enter", rank, k, rank, k)
	}
	return b.piece(piece{rank: int32(rank), kind: held, part: int32(k), slot: ir.Chunk(k), src: -1, made: -1})
}

// Enter returns a sign that rank has called the operation.
func (b *Builder) Enter(rank int) Piece {
	b.checkRank(rank)
	return b.piece(piece{rank: int32(rank), kind: enter, part: -1, slot: ir.Enter, src: -1, made: -1})
}

// Signal sends a signal from rank from to rank to when the pieces after, which are at from, are
// there, or when from has entered if there are none. The result is the signal at to.
func (b *Builder) Signal(from, to int, after ...Piece) Piece {
	b.checkRank(from)
	b.checkTo("Signal", from, to)
	for _, p := range after {
		b.checkAt("Signal", p, from)
	}
	if len(after) == 0 {
		after = []Piece{b.Enter(from)}
	}
	b.step(step{do: signals, rank: int32(from), to: int32(to), out: int32(b.pieces.n)}, after...)
	return b.piece(piece{rank: int32(to), kind: signal, part: -1, src: -1, made: int32(b.steps.n - 1)})
}

// Repair makes up for a lost multicast. p is either of these:
//
//   - A chunk that a multicast brings to p's rank. If it has not come there after after times the
//     base timeout, the rank asks rank from for it, which puts it as soon as it has it.
//   - A signal by which rank from tells p's rank that a multicast has brought it a chunk. If the
//     signal has not come after after times the base timeout, p's rank puts the chunk to from.
//
// A repair brings one chunk: of several that a signal waits for, the first. The rank waits for p
// before it returns. The base timeout follows the network's delays. Several repairs of one rank that
// are due at the same time delay each other, so after should differ among them: see [ir.Rule].
func (b *Builder) Repair(p Piece, from, after int) {
	b.check("Repair", p)
	b.checkRank(from)
	if after < 0 || after > ir.MaxAfter {
		b.fail("Repair: after %d: must be in 0 … %d", after, ir.MaxAfter)
	}
	at := b.pieces.at(p.id)
	b.checkTo("Repair", from, int(at.rank))
	if _, ok := b.repaired(at, int32(from)); !ok {
		b.fail("Repair: the piece is neither a chunk that was multicast nor a signal of rank %d after such a chunk", from)
	}
	b.step(step{do: repairs, rank: at.rank, to: int32(from), after: int32(after)}, p)
}

// repaired returns the multicast that a repair makes up for.
func (b *Builder) repaired(p *piece, from int32) (cast int32, ok bool) {
	switch {
	case p.made < 0:
		return 0, false
	case p.kind != signal:
		return p.made, b.steps.at(p.made).do == multicasts
	}
	s := b.steps.at(p.made)
	if s.rank != from {
		return 0, false
	}
	for _, id := range b.operands(s) {
		if made := b.pieces.at(id).made; made >= 0 && b.steps.at(made).do == multicasts {
			return made, true
		}
	}
	return 0, false
}

// Done makes rank wait for the pieces before it returns from the operation. It waits without Done
// for all chunks that it wants, and until it has sent all that it sends.
func (b *Builder) Done(rank int, pieces ...Piece) {
	b.checkRank(rank)
	for _, p := range pieces {
		b.checkAt("Done", p, rank)
	}
	b.step(step{do: dones, rank: int32(rank)}, pieces...)
}

// PutTogether puts pieces of one rank to another rank in one message, when all of them are there.
// It returns the pieces at the other rank, in the same order.
func PutTogether(rank int, pieces ...Piece) []Piece {
	if len(pieces) == 0 || pieces[0].b == nil {
		panic(&misuse{caller() + ": PutTogether: no piece"})
	}
	b := pieces[0].b
	b.checkPut("PutTogether", int(b.pieces.at(pieces[0].id).rank), rank, pieces...)
	arrived := make([]Piece, len(pieces))
	for i, p := range pieces {
		arrived[i] = b.arrive(p, rank)
	}
	return arrived
}

// PutTo puts p to another rank when p is there. It returns the same data at that rank.
func (p Piece) PutTo(rank int) Piece {
	p.checked("PutTo")
	b := p.b
	b.checkPut("PutTo", int(b.pieces.at(p.id).rank), rank, p)
	return b.arrive(p, rank)
}

// checkPut notes the put of pieces of rank from in one message.
func (b *Builder) checkPut(call string, from, to int, pieces ...Piece) {
	b.checkRank(to)
	if from == to {
		b.fail("%s: from rank %d to itself", call, from)
	}
	for i, p := range pieces {
		b.checkAt(call, p, from)
		if b.pieces.at(p.id).part < 0 {
			b.fail("%s: a signal or an enter has no data; Signal sends one", call)
		}
		if slices.ContainsFunc(pieces[:i], func(q Piece) bool { return q.id == p.id }) {
			b.fail("%s: a piece is there twice", call)
		}
	}
	b.step(step{do: puts, rank: int32(from), to: int32(to), out: int32(b.pieces.n)}, pieces...)
}

// arrive returns p at the rank to which the last step puts it.
func (b *Builder) arrive(p Piece, to int) Piece {
	at := b.pieces.at(p.id)
	there := piece{rank: int32(to), kind: chunk, part: at.part, slot: ir.Chunk(int(at.part)), src: p.id, made: int32(b.steps.n - 1)}
	if at.kind == input || at.kind == partial {
		there.kind, there.slot = partial, ir.None
	}
	return b.piece(there)
}

// Mcast multicasts p, a chunk, when p is there. It returns the chunk at each rank, by rank; at p's
// rank it is p itself. Any rank may miss it: see Repair. Ranks take the multicast of a chunk only from
// the rank that holds it at enter, or from the root, which is rank 0 if the collective has none.
func (p Piece) Mcast() []Piece {
	p.checked("Mcast")
	b, at := p.b, p.b.pieces.at(p.id)
	if at.part < 0 || at.kind == input {
		b.fail("Mcast: only a chunk or a result can be multicast")
	}
	if rank := int(at.rank); rank != b.h.Root && (at.kind == partial || !b.h.HasMessage() || !b.h.Holds(rank, int(at.part))) {
		b.fail("Mcast: at rank %d: ranks take multicasts of a chunk only from the rank that holds it at enter, or from the root (rank %d)", rank, b.h.Root)
	}
	b.note()
	b.step(step{do: multicasts, rank: at.rank, out: int32(b.pieces.n)}, p)
	arrived := make([]Piece, b.h.Ranks)
	for rank := range arrived {
		there := piece{rank: int32(rank), kind: chunk, part: at.part, slot: ir.Chunk(int(at.part)), src: p.id, made: int32(b.steps.n - 1)}
		if at.kind == partial {
			there.kind, there.slot = partial, ir.None
		}
		arrived[rank] = b.piece(there)
	}
	arrived[at.rank] = p
	return arrived
}

// Fold folds the values of others onto p's, from left to right: ((p·q)·r)… . All are at p's rank
// and belong to the same part of the vector. Without others it copies p.
func (p Piece) Fold(others ...Piece) Piece {
	p.checked("Fold")
	b, at := p.b, p.b.pieces.at(p.id)
	all := append([]Piece{p}, others...)
	for _, q := range all {
		b.checkAt("Fold", q, int(at.rank))
		switch has := b.pieces.at(q.id); {
		case has.kind != input && has.kind != partial:
			b.fail("Fold: an operand is neither a contribution nor folded from one")
		case has.part != at.part:
			b.fail("Fold: part %d of the vector with part %d", at.part, has.part)
		}
	}
	b.step(step{do: folds, rank: at.rank, out: int32(b.pieces.n)}, all...)
	return b.piece(piece{rank: at.rank, kind: partial, part: at.part, src: -1, made: int32(b.steps.n - 1)})
}

// Result says that p is what its rank wants for its chunk at the end. It is needed in collectives
// that fold; elsewhere a rank wants a chunk as it comes.
func (p Piece) Result() {
	p.checked("Result")
	b, at := p.b, p.b.pieces.at(p.id)
	k := b.wanted(at)
	if k < 0 {
		b.fail("Result: rank %d wants no such chunk", at.rank)
	}
	if b.results == nil {
		b.results = make([]marks, b.h.Ranks)
	}
	if of := &b.results[at.rank]; of.now == 0 {
		of.clear()
	}
	if !b.results[at.rank].add(ir.Chunk(k)) {
		b.fail("Result: rank %d has a result for c%d already", at.rank, k)
	}
	b.step(step{do: results, rank: at.rank, out: int32(b.pieces.n)}, p)
	if at.kind == input || at.kind == partial { // it may have to be copied
		b.piece(piece{rank: at.rank, kind: partial, part: at.part, src: -1, made: int32(b.steps.n - 1)})
	}
}

// wanted returns the chunk that p's rank wants and that p may be, or -1.
func (b *Builder) wanted(p *piece) int {
	wanted := b.h.Wanted(int(p.rank))
	switch {
	case p.part < 0:
		return -1
	case p.kind != input && p.kind != partial:
		if !wanted.Has(int(p.part)) {
			return -1
		}
		return int(p.part)
	}
	f := b.h.BlockChunks()
	for i := range wanted.Count { // one block, or one besides the question
		if k := wanted.At(i)*f + int(p.part)%f; b.h.FoldedRanks(k) > 0 && b.h.InputOf(k) == int(p.part) {
			return k
		}
	}
	return -1
}

// After returns the same piece, to be used only when others, which are at the same rank, are there.
func (p Piece) After(others ...Piece) Piece {
	p.checked("After")
	b, at := p.b, p.b.pieces.at(p.id)
	late := slices.Clone(b.late[p.id])
	for _, q := range others {
		b.checkAt("After", q, int(at.rank))
		late = append(late, q.id)
	}
	copied := *at
	copied.src = p.id
	after := b.piece(copied)
	if b.late == nil {
		b.late = make(map[int32][]int32)
	}
	b.late[after.id] = late
	return after
}

// Named gives p a name, such as "left half", for counterexamples and pictures. It returns p.
func (p Piece) Named(name string) Piece {
	p.checked("Named")
	if p.b.names == nil {
		p.b.names = make(map[int32]string)
	}
	p.b.names[p.id] = name
	return p
}

// Rank returns the rank at which p is.
func (p Piece) Rank() int {
	p.checked("Rank")
	return int(p.b.pieces.at(p.id).rank)
}

// piece notes a piece.
func (b *Builder) piece(p piece) Piece {
	if b.pieces.n >= MaxActions {
		b.Refuse("%s among %d ranks takes more than %d pieces; at most so many are built", b.h.Name(), b.h.Ranks, MaxActions)
	}
	b.pieces.append(p)
	return Piece{b, int32(b.pieces.n) - 1}
}

// note notes the call by which the next step is made, which may turn out to be wrong.
func (b *Builder) note() {
	if b.where == nil {
		b.where = make(map[int32]uintptr)
	}
	b.where[int32(b.steps.n)] = callerPC()
}

func (b *Builder) step(s step, operands ...Piece) {
	if b.of.n+len(operands) > math.MaxInt32 || b.steps.n >= MaxActions {
		b.Refuse("%s among %d ranks takes more than %d steps; at most so many are built", b.h.Name(), b.h.Ranks, MaxActions)
	}
	s.first, s.n = int32(b.of.n), int32(len(operands))
	for _, p := range operands {
		b.of.append(p.id)
	}
	b.steps.append(s)
}

// operands returns the pieces that a step takes, valid until the next call.
func (b *Builder) operands(s *step) []int32 {
	b.taken = b.taken[:0]
	for i := range s.n {
		b.taken = append(b.taken, *b.of.at(s.first + i))
	}
	return b.taken
}

func (b *Builder) checkRank(rank int) {
	if b.ended {
		b.fail("a Builder is used after its function has returned")
	}
	if rank < 0 || rank >= b.h.Ranks {
		b.fail("rank %d: the ranks are 0 … %d", rank, b.h.Ranks-1)
	}
}

func (b *Builder) checkTo(call string, from, to int) {
	b.checkRank(to)
	if from == to {
		b.fail("%s: from rank %d to itself", call, from)
	}
}

func (b *Builder) check(call string, p Piece) {
	switch {
	case p.b != nil && p.b.ended:
		b.fail("%s: a piece of a schedule that has been made", call)
	case p.b == nil:
		b.fail("%s: a piece that no call has returned", call)
	case p.b != b:
		b.fail("%s: a piece of another schedule", call)
	}
}

func (p Piece) checked(call string) {
	switch {
	case p.b == nil:
		panic(&misuse{fmt.Sprintf("%s: %s: a piece that no call has returned", caller(), call)})
	case p.b.ended:
		panic(&misuse{fmt.Sprintf("%s: %s: a piece of a schedule that has been made", caller(), call)})
	}
}

func (b *Builder) checkAt(call string, p Piece, rank int) {
	b.check(call, p)
	if at := b.pieces.at(p.id).rank; int(at) != rank {
		b.fail("%s: the piece is at rank %d, not at rank %d", call, at, rank)
	}
}

// caller returns the file and line of the call of this package in which the caller is, or where a
// panic began.
func caller() string { return lineOf(callerPC()) }

func callerPC() uintptr {
	var pcs [32]uintptr
	n := goruntime.Callers(1, pcs[:])
	for i, pc := range pcs[:n] {
		if f := goruntime.FuncForPC(pc - 1); f != nil && !strings.HasPrefix(f.Name(), pkgPath+".") && !strings.HasPrefix(f.Name(), "runtime.") {
			return pcs[i]
		}
	}
	return 0
}

// pkgPath is the path of this package.
var pkgPath = reflect.TypeFor[Builder]().PkgPath()

func lineOf(pc uintptr) string {
	f, _ := goruntime.CallersFrames([]uintptr{pc}).Next()
	if f.File == "" {
		return "?"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
}
