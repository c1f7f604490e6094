// Package twins plays generated code and the machine that interprets the
// same schedule against each other: every arrival must trigger the same at
// both. The test of generated code adds the lists of twins.
package twins

import (
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

//go:embed *.txt
var texts embed.FS

// orders is how many random orders of events each twin is played in.
const orders = 12

func TestPlay(t *testing.T) {
	for _, tw := range played {
		require.NoError(t, tw.play(), tw.name)
	}
	t.Logf("%d twins", len(played))
}

// twin is generated code and the name of the file with its schedule.
type twin struct {
	name      string
	generated *machine.Schedule
}

func (t *twin) play() error {
	f, err := texts.Open(t.name + ".txt")
	if err != nil {
		return err
	}
	s, err := ir.ParseText(f)
	if err != nil {
		return err
	}
	interpreted, err := machine.Of(s)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(interpreted.Header, t.generated.Header) || interpreted.Digest != t.generated.Digest {
		return fmt.Errorf("header %+v, want %+v", t.generated.Header, interpreted.Header)
	}
	if _, err := t.generated.Program(s.Ranks); err == nil {
		return fmt.Errorf("a program of rank %d", s.Ranks)
	}
	if err := samePlaces(interpreted, t.generated); err != nil {
		return err
	}
	n := network{schedule: s, pairs: make([]pair, s.Ranks)}
	for r := range n.pairs {
		if err := n.pairs[r].make(interpreted, t.generated, r); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	for seed := range uint64(orders) {
		if err := n.run(rand.New(rand.NewPCG(seed, 1))); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// samePlaces returns an error unless the flags of all ranks stand in the same places.
func samePlaces(interpreted, generated *machine.Schedule) error {
	if (interpreted.Places == nil) != (generated.Places == nil) {
		return errors.New("one of them has no places")
	}
	for rank := 0; interpreted.Places != nil && rank < interpreted.Header.Ranks; rank++ {
		if got, want := generated.Places(rank), interpreted.Places(rank); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("rank %d: places %+v, want %+v", rank, got, want)
		}
	}
	return nil
}

// pair is one rank's engines: that of the machine, that of generated code.
type pair struct {
	programs [2]machine.Program
	engines  [2]machine.Engine
}

func (p *pair) make(interpreted, generated *machine.Schedule, rank int) (err error) {
	for k, s := range []*machine.Schedule{interpreted, generated} {
		if p.programs[k], err = s.Program(rank); err != nil {
			return err
		}
		p.engines[k] = p.programs[k].Engine()
	}
	a, b := p.programs[0], p.programs[1]
	if got, want := summary(b), summary(a); got != want {
		return fmt.Errorf("outline %s, want %s", got, want)
	}
	return nil
}

// summary spells what a program's outline tells, however it is cut into rules.
func summary(p machine.Program) string {
	o := p.Outline()
	var plain []ir.Action
	var repairs []ir.Rule
	for _, r := range o.Rules {
		if r.IsRepair() {
			repairs = append(repairs, r)
		} else {
			plain = append(plain, r.Do...)
		}
	}
	return fmt.Sprintf("%v %v %v %v %v %v %+v", o.Rank, o.Signals, o.Done, plain, repairs, p.Keeps(), p.Recovery())
}

// arrival is a slot under way to a rank.
type arrival struct {
	rank int
	slot ir.Slot
}

// armed is a repair of a rank, by the numbers of both engines.
type armed struct {
	rank    int
	repairs [2]int32
}

// network delivers in a random order what is under way, some of it twice, and
// carries out repairs at any time. It loses as many multicasts as it likes.
type network struct {
	schedule *ir.Schedule
	pairs    []pair
	under    []arrival
	armed    []armed
	loss     int // multicasts lost, of four
}

func (n *network) run(random *rand.Rand) error {
	n.under, n.armed, n.loss = n.under[:0], n.armed[:0], random.IntN(5)
	for r := range n.pairs {
		n.under = append(n.under, arrival{r, ir.Enter})
		for _, e := range n.pairs[r].engines {
			e.Clear()
		}
	}
	for len(n.under)+len(n.armed) > 0 {
		i := random.IntN(len(n.under) + len(n.armed))
		if i < len(n.under) {
			a := take(&n.under, i)
			if random.IntN(8) == 0 {
				n.under = append(n.under, a)
			}
			if err := n.deliver(a, random); err != nil {
				return fmt.Errorf("rank %d, %v: %w", a.rank, a.slot, err)
			}
			continue
		}
		if err := n.repair(take(&n.armed, i-len(n.under)), random); err != nil {
			return err
		}
	}
	return nil
}

func take[T any](list *[]T, i int) T {
	last := len(*list) - 1
	v := (*list)[i]
	(*list)[i] = (*list)[last]
	*list = (*list)[:last]
	return v
}

func (n *network) deliver(a arrival, random *rand.Rand) error {
	p := &n.pairs[a.rank]
	want, arm := p.engines[0].Set(a.slot)
	got, armToo := p.engines[1].Set(a.slot)
	if !same(got, want) {
		return fmt.Errorf("triggers %v, want %v", got, want)
	}
	if len(arm) != len(armToo) {
		return fmt.Errorf("arms %d repairs, want %d", len(armToo), len(arm))
	}
	n.send(a.rank, want, random)
	for k := range arm {
		n.armed = append(n.armed, armed{a.rank, [2]int32{arm[k], armToo[k]}})
	}
	return p.compare()
}

func same(a, b []ir.Action) bool { return slices.Equal(a, b) }

// compare compares all that engines tell of themselves.
func (p *pair) compare() error {
	if a, b := p.engines[0], p.engines[1]; !alike(a, b) {
		return fmt.Errorf("tells %s, want %s", tell(b), tell(a))
	}
	return nil
}

// looked is how many slots of a kind are compared.
const looked = 96

// alike reports whether two engines tell the same. It is asked after every arrival, so that
// nothing is spelled.
func alike(a, b machine.Engine) bool {
	firedA, ofA := a.Progress()
	firedB, ofB := b.Progress()
	same := firedA == firedB && ofA == ofB && a.Done() == b.Done() && a.Retired() == b.Retired() &&
		a.Has(ir.Enter) == b.Has(ir.Enter) && a.Valid(ir.None) == b.Valid(ir.None)
	for i := -1; same && i < looked; i++ {
		c, s := ir.Chunk(i), ir.Signal(i)
		same = a.Has(c) == b.Has(c) && a.Valid(c) == b.Valid(c) && a.Has(s) == b.Has(s) && a.Valid(s) == b.Valid(s)
	}
	return same && slices.Equal(a.Missing(nil, 3), b.Missing(nil, 3))
}

// tell spells what alike compares.
func tell(e machine.Engine) string {
	fired, of := e.Progress()
	var has []bool
	for i := -1; i < looked; i++ {
		has = append(has, e.Has(ir.Chunk(i)), e.Valid(ir.Chunk(i)), e.Has(ir.Signal(i)), e.Valid(ir.Signal(i)))
	}
	return fmt.Sprint(e.Done(), e.Retired(), fired, of, e.Missing(nil, 3), e.Has(ir.Enter), e.Valid(ir.None), has)
}

func (n *network) repair(a armed, random *rand.Rand) error {
	p := &n.pairs[a.rank]
	var tell [2]string
	for k, r := range a.repairs {
		after, ok := p.programs[k].Repair(r)
		tell[k] = fmt.Sprint(after, ok, p.engines[k].Pending(r), p.programs[k].Actions(r))
	}
	if tell[0] != tell[1] {
		return fmt.Errorf("rank %d: repair %s, want %s", a.rank, tell[1], tell[0])
	}
	if p.engines[0].Pending(a.repairs[0]) {
		n.send(a.rank, p.programs[0].Actions(a.repairs[0]), random)
	}
	return nil
}

func (n *network) send(from int, actions []ir.Action, random *rand.Rand) {
	for _, a := range actions {
		if a.Op == ir.Put {
			n.under = append(n.under, arrival{int(a.To), a.Slot})
			continue
		}
		for r := range n.pairs {
			if r != from && random.IntN(4) >= n.loss {
				n.under = append(n.under, arrival{r, a.Slot})
			}
		}
	}
}
