package selection

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"strings"
)

// Text returns the rules in the form of schedgen, one rule a line. Each table has exactly one
// spelling, from which Parse returns the same rules.
func (r *Rules) Text() []byte {
	var b bytes.Buffer
	b.WriteString("{\"format\": \"" + Format + "\",\n \"rules\": [")
	for i := range r.list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  " + r.list[i].String())
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// sum returns the digest of the rules.
func (r *Rules) sum() uint64 {
	f := fnv.New64a()
	_, _ = f.Write(r.Text()) // writing to a hash never fails
	return f.Sum64()
}

// written are a rule's fields as they are written. A missing number is nil.
type written struct {
	Collective string         `json:"collective"`
	Ranks      *writtenRange  `json:"ranks,omitempty"`
	Bytes      *writtenRange  `json:"bytes,omitempty"`
	Hosts      *writtenRange  `json:"hosts,omitempty"`
	Place      string         `json:"place,omitempty"`
	Multicast  *bool          `json:"multicast,omitempty"`
	Memory     *bool          `json:"memory,omitempty"`
	Rings      *bool          `json:"rings,omitempty"`
	Algorithm  string         `json:"algorithm"`
	Params     *writtenParams `json:"params,omitempty"`
	Reason     string         `json:"reason,omitempty"`
}

type writtenRange struct {
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
}

type writtenParams struct {
	Degree  int  `json:"degree,omitempty"`
	FanIn   int  `json:"fan-in,omitempty"`
	FanOut  int  `json:"fan-out,omitempty"`
	Chunks  int  `json:"chunks,omitempty"`
	Chunk   int  `json:"chunk,omitempty"`
	Masters bool `json:"masters,omitempty"`
}

// String returns the rule as a line of a table, without the line end.
func (r *Rule) String() string {
	w := written{
		Collective: r.Collective, Ranks: r.Ranks.written(), Bytes: r.Bytes.written(), Hosts: r.Hosts.written(),
		Place: r.Place.String(), Multicast: r.Multicast.written(), Memory: r.Memory.written(), Rings: r.Rings.written(),
		Algorithm: r.Algorithm, Reason: r.Reason,
	}
	if r.Params != (Params{}) {
		w.Params = new(writtenParams(r.Params))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(w) // strings and numbers can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

func (r Range) written() *writtenRange {
	if r == (Range{}) {
		return nil
	}
	w := new(writtenRange)
	if r.From > 0 {
		w.Min = &r.From
	}
	if r.To > 0 {
		w.Max = new(r.To - 1)
	}
	return w
}

func (n Need) written() *bool {
	if n == Either {
		return nil
	}
	return new(n == With)
}
