package deep

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole leads to values of every kind.
type whole struct {
	parts   *parts
	head    []byte
	tail    []byte // the rest of all
	all     []byte
	named   map[string]*int
	any     fmt.Stringer
	err     error
	call    func()
	pair    [2][]int
	plan    *int   `state:"fixed"`
	scratch []byte `state:"scratch"`
	time    int64  `state:"ignored"`
	inner   inner
	host    *host
}

type inner struct{ n int16 }

// host is another type for the memory of whole.
type host whole

type parts struct {
	of   *inner // in whole
	text string
	next *parts
}

func (i *inner) String() string { return fmt.Sprint(i.n) }

func newWhole() *whole {
	n, plan := 7, 1
	w := &whole{
		all: []byte("abcd"), named: map[string]*int{"x": &n, "y": &n, "z": nil}, err: errors.New("why"), call: func() {},
		pair: [2][]int{{1, 2}, nil}, plan: &plan, scratch: []byte("s"), time: 5, inner: inner{9},
	}
	w.head, w.tail = w.all[:1], w.all[1:]
	w.parts = &parts{of: &w.inner, text: "first", next: &parts{text: "second"}}
	w.any, w.host = &w.inner, (*host)(w)
	return w
}

// A copy has the state of its original, the same structure, and nothing of its memory.
func TestCopy(t *testing.T) {
	w := newWhole()
	before := Append(nil, nil, w)
	c := Copy(nil, w)
	require.Equal(t, before, Append(nil, nil, c))
	require.Same(t, &c.inner, c.parts.of)
	require.Same(t, &c.inner, c.any)
	require.Same(t, c, (*whole)(c.host))
	require.Same(t, c.named["x"], c.named["y"])
	require.Same(t, w.plan, c.plan)
	require.Nil(t, c.scratch)
	require.Equal(t, w.time, c.time)

	c.all[0], c.all[3] = 'A', 'D'
	require.Equal(t, "A", string(c.head))
	require.Equal(t, "bcD", string(c.tail))
	c.pair[0][0], *c.named["x"], c.parts.of.n, c.parts.next.text = 3, 8, 10, "changed"
	c.pair[0] = append(c.pair[0], 4)
	delete(c.named, "z")
	require.Equal(t, before, Append(nil, nil, w), "the original is as it was")
	require.Equal(t, newWhole().pair, w.pair)
}

// Every difference of states is seen, and nothing else.
func TestAppend(t *testing.T) {
	before := Append(nil, []byte("x"), newWhole())
	require.Equal(t, byte('x'), before[0])
	n := 7
	for what, change := range map[string]func(w *whole){
		"number":           func(w *whole) { w.inner.n = -9 },
		"behind a pointer": func(w *whole) { w.parts.next.text = "third" },
		"no pointer":       func(w *whole) { w.parts.next = nil },
		"another place":    func(w *whole) { w.parts.of = &inner{9} },
		"length":           func(w *whole) { w.pair[1] = []int{0} },
		"border":           func(w *whole) { w.pair = [2][]int{{1}, {2}} },
		"entry":            func(w *whole) { w.named["z"] = &n },
		"key":              func(w *whole) { w.named["w"] = nil },
		"error":            func(w *whole) { w.err = errors.New("because") },
		"function":         func(w *whole) { w.call = nil },
		"interface":        func(w *whole) { w.any = nil },
	} {
		w := newWhole()
		change(w)
		require.NotEqual(t, before[1:], Append(nil, nil, w), what)
	}
	w := newWhole()
	w.plan, w.scratch, w.time, w.err = nil, nil, 6, fmt.Errorf("w%s", "hy")
	w.pair[1], w.pair[0] = []int{}, append(make([]int, 0, 9), 1, 2)
	require.Equal(t, before[1:], Append(nil, nil, w))
}

// Memory that two slices share in part cannot be copied.
func TestCopyInPart(t *testing.T) {
	all := []byte("abcd")
	require.Panics(t, func() { Copy(nil, &[2][]byte{all, all[1:3]}) })
	require.Panics(t, func() { Copy(nil, &[2][]byte{all[1:], all[:2]}) })
	c := Copy(nil, &[2][]byte{all[1:3], all})
	c[0][0] = 'B'
	require.Equal(t, "aBcd", string(c[1]))
}

// BenchmarkCopy times a copy by a Form that has met all types.
func BenchmarkCopy(b *testing.B) {
	f, w := NewForm(), newWhole()
	b.ReportAllocs()
	for b.Loop() {
		w = Copy(f, w)
	}
}
