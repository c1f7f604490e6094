package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
)

// loggpArgs are the flags for the parameters of the LogGP model and the length of a block.
type loggpArgs struct {
	Size  *byteSize   `placeholder:"SIZE" help:"Bytes of one block for the makespan; a broadcast has one block, its message; default 1B; units B, kB, MB, GB, KiB, MiB, GiB."`
	LogGP loggpParams `name:"loggp" default:"2500,1500,1000,6" placeholder:"L,o,g,G" help:"Parameters of the makespan's model: latency L, overhead o and gap g in ns, gap G in ns a byte; default 2500,1500,1000,6."`
	Fold  perByte     `name:"fold" default:"0.2ns" placeholder:"TIME" help:"Time of a fold for each byte of each operand after the first, in the models; default 0.2ns."`
}

// simulate runs s in the model.
func (a *loggpArgs) simulate(s *ir.Schedule) (*makespan, error) {
	m := &makespan{params: loggp.Params(a.LogGP), bytes: 1}
	m.params.Fold = sim.PerByte(a.Fold)
	switch {
	case a.Size == nil:
	case !s.HasMessage():
		return nil, fmt.Errorf("--size: %s moves no bytes", s.Name())
	default:
		m.bytes = int(*a.Size)
	}
	var err error
	m.result, err = loggp.Run(s, m.params, m.bytes)
	return m, err
}

// loggpParams is the value of a flag such as --loggp.
type loggpParams loggp.Params

// UnmarshalText reads "2500,1500,1000,6".
func (p *loggpParams) UnmarshalText(text []byte) error {
	fields := []*loggp.Time{&p.L, &p.O, &p.Gap, &p.GPerByte}
	words := strings.Split(string(text), ",")
	if len(words) != len(fields) {
		return fmt.Errorf("%q: must be four numbers L,o,g,G, such as 2500,1500,1000,6", text)
	}
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q: %q is not a whole number of nanoseconds of at least 0", text, w)
		}
		*fields[i] = loggp.Time(n)
	}
	return nil
}

// makespan is the result of a run in the model.
type makespan struct {
	params loggp.Params
	bytes  int
	result *loggp.Result
}

// spell spells the makespan, the length of the message and the parameters of the model.
func (m *makespan) spell(h *ir.Header) string {
	of := ""
	if h.HasMessage() {
		of = fmt.Sprintf(" for %v", byteSize(m.bytes))
	}
	text := fmt.Sprintf(`%s%s in the LogGP model: latency %s,
               CPU %s a send and a receive, interface %s a message and %s a further byte`,
		micros(m.result.Makespan), of, micros(m.params.L), micros(m.params.O), micros(m.params.Gap), micros(m.params.GPerByte))
	if h.Folds() {
		text += fmt.Sprintf(`,
               folds %v ns a byte`, m.params.Fold)
	}
	return text
}

// micros spells a time of the model without rounding.
func micros(t loggp.Time) string {
	if t == loggp.Never {
		return "never"
	}
	if t < 1000 {
		return fmt.Sprintf("%d ns", t)
	}
	return strconv.FormatFloat(float64(t)/1000, 'f', -1, 64) + " µs"
}

// nanos returns a time for JSON: nanoseconds, or nil for never.
func nanos(t loggp.Time) *int64 {
	if t == loggp.Never {
		return nil
	}
	n := int64(t)
	return &n
}

// loggpObject is the JSON form of the model: the bytes of a block, and times in nanoseconds or
// nanoseconds a byte.
type loggpObject struct {
	Bytes int `json:"bytes"`
	loggpTimes
	Near *loggpTimes `json:"near,omitempty"` // parameters within a host, if they differ
}

type loggpTimes struct {
	L    loggp.Time `json:"L"`
	O    loggp.Time `json:"o"`
	Gap  loggp.Time `json:"g"`
	PerB loggp.Time `json:"G"`
}

func newLoggpObject(bytes int, p *loggp.Params) loggpObject {
	times := func(p *loggp.Params) loggpTimes { return loggpTimes{p.L, p.O, p.Gap, p.GPerByte} }
	o := loggpObject{Bytes: bytes, loggpTimes: times(p)}
	if p.Near != nil {
		o.Near = new(times(p.Near))
	}
	return o
}

func (m *makespan) object() loggpObject { return newLoggpObject(m.bytes, &m.params) }
