package ir

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ParseJSON reads the JSON forms schedgen/1 to schedgen/4. It is strict. It refuses
//
//   - an unknown, missing or duplicate field, or a field that the document's form does not have;
//   - a form that [WriteJSON] would not have chosen;
//   - a value of a wrong type or out of range;
//   - a rank without a program or with two programs;
//   - anything after the document.
//
// The members of an object may come in any order, and so may the programs. ParseJSON reads a stream
// and needs memory in proportion to the input read, whatever numbers the document claims. The error
// is a [*ParseError] with the path, line, column and byte of the first fault. If only the whole
// document shows the fault, the error points to the start of the program or field that is at fault.
//
// [Validate] accepts every schedule that ParseJSON returns. Package verify checks whether the
// schedule is correct.
func ParseJSON(r io.Reader) (*Schedule, error) {
	p := jsonReader{jsonScanner: jsonScanner{source: newSource(r)}}
	p.path = p.where
	p.document()
	p.nextValue()
	p.end("the document")
	p.checkEnd()
	if !p.ok() {
		return nil, p.err
	}
	return &p.s, nil
}

type jsonReader struct {
	jsonScanner
	s      Schedule
	fields [len(topFields)]mark // where the values of the header are
	starts []mark               // where the programs are, in the order of the document
	ranks  []int32              // the rank of each program, in the order of the document
	seen   []uint64             // bit set of the ranks that have a program
	form   string               // the format
	values [2]mark              // the first program without the member values, and the first with it

	// Bounds for the values that follow: the limits of the package until the document has named its
	// own numbers.
	rankBound, chunkBound, signalBound, valueBound int

	slots   arena[Slot]
	actions arena[Action]
	rules   arena[Rule]
	peers   arena[int32]
	// Buffers for lists whose length is not known yet.
	slotBuf   []Slot
	actionBuf []Action
	peerBuf   []int32
	ruleBuf   []Rule
}

var topFields = [...]string{
	"format", "collective", "algorithm", "ranks", "root", "chunks", "params", "programs", "recovery",
}

// Bits of topFields.
const (
	allTop    = 1<<(len(topFields)-1) - 1 // the fields of every form
	headerTop = allTop >> 1               // all but the programs
)

func (p *jsonReader) document() {
	p.rankBound, p.chunkBound = MaxRanks, MaxChunks
	have := uint(0)
	p.object(topFields[:], allTop, func(i int) {
		p.fields[i] = p.nextValue()
		p.topField(i)
		have |= 1 << i
		if p.ok() && have&headerTop == headerTop && 1<<i&headerTop != 0 {
			p.checkHeader()
		}
	})
}

func (p *jsonReader) topField(i int) {
	h := &p.s.Header
	switch topFields[i] {
	case "format":
		p.format()
	case "collective":
		h.Collective = string(p.string("a string"))
	case "algorithm":
		h.Algorithm = string(p.string("a string"))
	case "ranks":
		h.Ranks = p.int(1, MaxRanks)
		p.rankBound = h.Ranks
	case "root":
		h.Root = p.int(0, p.rankBound-1)
	case "chunks":
		h.Chunks = p.int(0, MaxChunks)
		p.chunkBound = h.Chunks
	case "params":
		p.params()
	case "recovery":
		h.Recovers = p.bool()
	case "programs":
		p.array(p.program)
	}
}

// checkHeader checks the header once all of its fields are known.
func (p *jsonReader) checkHeader() {
	if f := checkHeader(&p.s.Header); f != nil {
		field, _, _ := strings.Cut(f.field, ".")
		p.failPath(p.fields[slices.Index(topFields[:], field)], f.field, f.msg)
	}
}

var formats = []string{Format, FormatRecovery, FormatBarrier, FormatBlocks}

// format reads the form of the document.
func (p *jsonReader) format() {
	m := p.nextValue()
	switch v := p.string("a string"); {
	case !p.ok():
	case !slices.Contains(formats, string(v)):
		p.failAt(m, "unknown format %s; known are %s", quote(v), strings.Join(formats, ", "))
	default:
		p.form = string(v)
		p.s.Recovers = p.s.Recovers || p.form == FormatRecovery
	}
}

// checkForm checks that the document has the form that its schedule requires, and the fields of that
// form.
func (p *jsonReader) checkForm() {
	const only = "%s has no field %q, which %s requires"
	blocks := p.form == FormatBlocks
	recovery := p.fields[slices.Index(topFields[:], "recovery")]
	switch form := p.s.format(); {
	case !blocks && recovery != (mark{}):
		p.failPath(recovery, "recovery", fmt.Sprintf(only, p.form, "recovery", FormatBlocks))
	case !blocks && p.values[1] != (mark{}):
		p.failPath(p.values[1], "programs", fmt.Sprintf(only, p.form, "values", FormatBlocks))
	case p.form != form:
		p.failPath(p.fields[0], "format", fmt.Sprintf("%s, must be %s, the first form that can express this schedule", p.form, form))
	case blocks && recovery == (mark{}):
		p.failPath(p.fields[0], "format", fmt.Sprintf(`%s, but field "recovery" is missing`, p.form))
	case blocks && p.values[0] != (mark{}):
		p.failPath(p.values[0], "programs", `field "values" is missing`)
	}
}

// failPath fails at m with the given path instead of the current one.
func (p *jsonReader) failPath(m mark, path, msg string) {
	if p.ok() {
		p.steps = append(p.steps[:0], step{name: path})
		p.failAt(m, "%s", msg)
	}
}

func (p *jsonReader) params() {
	p.open('{', "an object")
	for n := 0; p.ok() && p.more(n, '}'); n++ {
		m := p.nextValue()
		name := string(p.string("the name of a parameter"))
		p.colon()
		p.push(name, 0)
		if p.ok() && !isParam(name) {
			p.failAt(m, "%s is not the name of a parameter", quote([]byte(name)))
		}
		if n == MaxParams {
			p.failAt(m, "more than %d parameters", MaxParams)
		}
		i, twice := slices.BinarySearchFunc(p.s.Params, name, func(a Param, b string) int {
			return cmp.Compare(a.Name, b)
		})
		if twice {
			p.failAt(m, "duplicate field %q", name)
		}
		p.s.Params = slices.Insert(p.s.Params, i, Param{Name: name, Value: p.int(0, MaxParam)})
		if p.ok() {
			p.pop()
		}
	}
}

// checkEnd sorts the programs and checks what only the whole document shows.
func (p *jsonReader) checkEnd() {
	if !p.ok() {
		return
	}
	programs := p.s.Programs
	byRank := func(a, b Program) int { return cmp.Compare(a.Rank, b.Rank) }
	if !slices.IsSortedFunc(programs, byRank) {
		slices.SortFunc(programs, byRank)
	}
	if n := len(programs); n > 0 && programs[n-1].Rank >= p.s.Ranks {
		p.fault(at(programs[n-1].Rank, -1, -1, "rank", "%d is out of range 0 … %d", programs[n-1].Rank, p.s.Ranks-1))
	} else if n < p.s.Ranks {
		msg := fmt.Sprintf("no program for rank %s; %d programs for %d ranks", p.missing(), n, p.s.Ranks)
		p.failPath(p.fields[slices.Index(topFields[:], "programs")], "programs", msg)
	} else if f := check(&p.s); f != nil {
		p.fault(f)
	} else {
		p.checkForm()
	}
}

// fault fails with a fault in a program. The header has been checked before.
func (p *jsonReader) fault(f *fault) {
	i := slices.Index(p.ranks, int32(f.rank))
	p.failPath(p.starts[i], f.path(i), f.msg)
}

// missing names the first few ranks that have no program.
func (p *jsonReader) missing() string {
	const few = 5
	var names []string
	i := 0
	for rank := 0; rank < p.s.Ranks && len(names) <= few; rank++ {
		if i < len(p.s.Programs) && p.s.Programs[i].Rank == rank {
			i++
			continue
		}
		names = append(names, strconv.Itoa(rank))
	}
	if len(names) > few {
		names[few] = "…"
	}
	return strings.Join(names, ", ")
}
