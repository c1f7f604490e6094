package cli

import (
	"encoding/json"
	"math"

	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/schedule/selection"
)

// tuneObject is the object that tune prints with --json. Times are in nanoseconds, slopes in
// nanoseconds a byte.
type tuneObject struct {
	Transport  string              `json:"transport,omitempty"`
	Key        bool                `json:"key,omitempty"`
	Encrypted  bool                `json:"encrypted,omitempty"`
	Confidence float64             `json:"confidence,omitempty"`
	Sizes      []tuneSize          `json:"sizes,omitempty"`
	Missing    int                 `json:"missing,omitempty"` // sizes not measured because the budget was over
	LogGP      map[string]estimate `json:"loggp"`
	Linear     map[string]estimate `json:"linear,omitempty"`
	Lines      []tuneLines         `json:"lines,omitempty"`
	Measured   int                 `json:"rules_measured"`
	Modelled   int                 `json:"rules_modelled"`
	Untimed    int                 `json:"cases_untimed,omitempty"` // cases not timed because the budget was over
	Misfits    []tuneMisfit        `json:"misfits,omitempty"`       // why the model made no rules
	Rules      []json.RawMessage   `json:"rules"`
}

// estimate is a value with the ends of its interval. An unknown end is null.
type estimate struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

func newEstimate(v fit.Interval) estimate {
	return estimate{v.Value, finite(v.Low), finite(v.High)}
}

// finite returns a pointer to v, or nil if v is infinite.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// tuneMisfit is a time that was not measured well enough for a model.
type tuneMisfit struct {
	Of        string   `json:"of"`
	Bytes     int      `json:"bytes"`
	Measured  estimate `json:"measured"`
	Uncertain bool     `json:"uncertain"` // true: the interval is too wide; false: the model is off
	Model     float64  `json:"model"`
	Off       *float64 `json:"off"` // as a fraction of the value; null: too few rounds to tell
	Allowed   float64  `json:"allowed"`
}

type tuneSize struct {
	Bytes    int      `json:"bytes"`
	Rounds   int      `json:"rounds"`
	OneWay   estimate `json:"one_way"`
	Sender   estimate `json:"sender"`
	Receiver estimate `json:"receiver"`
	Gap      estimate `json:"gap"`
}

// tuneLines are the lines of a quantity: several if they fit and one does not, else one.
type tuneLines struct {
	Of    string     `json:"of"`
	Lines []tuneLine `json:"lines"`
}

type tuneLine struct {
	Min   int      `json:"min_bytes"`
	Max   int      `json:"max_bytes"`
	Start estimate `json:"start"`
	Slope estimate `json:"slope"`
	Fits  bool     `json:"fits"`
	Off   float64  `json:"off"` // largest deviation, as a fraction of a value
}

func (t *tuned) object() tuneObject {
	o := tuneObject{Measured: t.made.measured, Modelled: t.made.modelled, Untimed: t.dropped, Rules: []json.RawMessage{}}
	for _, r := range t.rules.List() {
		if r.Algorithm != selection.BuiltIn {
			o.Rules = append(o.Rules, json.RawMessage(r.String()))
		}
	}
	m := t.machine
	if m == nil {
		given := t.cmd.model()
		o.LogGP = loggpEstimates(fit.Exactly(float64(given.L)), fit.Exactly(float64(given.O)), fit.Exactly(float64(given.Gap)),
			fit.Exactly(float64(given.GPerByte)/1000), fit.Exactly(float64(given.OPerByte)/1000))
		return o
	}
	o.Transport, o.Key, o.Encrypted, o.Confidence = t.link.Transport, len(t.link.Key) > 0, t.link.Encrypt, fit.Confidence
	o.Missing = t.wanted - len(m.Sizes)
	o.LogGP = loggpEstimates(m.L, m.O, m.Gap, m.GPerByte, m.OPerByte)
	o.Linear = map[string]estimate{"t0": newEstimate(m.T0), "td": newEstimate(m.PerByte)}
	for i := range m.Sizes {
		s := &m.Sizes[i]
		o.Sizes = append(o.Sizes, tuneSize{
			s.Bytes, len(t.samples[i].RoundTrip), newEstimate(s.OneWay), newEstimate(s.Send), newEstimate(s.Recv), newEstimate(s.Gap),
		})
	}
	for i := range t.misfits {
		f := &t.misfits[i]
		o.Misfits = append(o.Misfits, tuneMisfit{f.Quantity, f.Bytes, newEstimate(f.Measured), f.Uncertain, f.Model, finite(f.Off), f.Allowed})
	}
	for _, q := range quantities(m) {
		o.Lines = append(o.Lines, t.lines(&q))
	}
	return o
}

func loggpEstimates(l, o, g, perByte, cpuPerByte fit.Interval) map[string]estimate {
	return map[string]estimate{
		"L": newEstimate(l), "o": newEstimate(o), "g": newEstimate(g), "G": newEstimate(perByte), "O": newEstimate(cpuPerByte),
	}
}

func (t *tuned) lines(q *quantity) tuneLines {
	all := tuneLines{Of: q.Name}
	for i := range q.pieces {
		p := &q.pieces[i]
		all.Lines = append(all.Lines, tuneLine{
			t.machine.Sizes[p.From].Bytes, t.machine.Sizes[p.To-1].Bytes,
			newEstimate(p.Line.Intercept), newEstimate(p.Line.Slope), p.Fits, p.Worst,
		})
	}
	return all
}
