package selection

import (
	"slices"
	"strings"
	"unicode"

	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/schedule"
)

// Format is the value of the field format of a table of rules. A later format will have another
// number.
const Format = "schedgen-rules/1"

// The fields of a table of rules, in the order in which they are written.
var (
	fileFields  = []string{"format", "rules"}
	ruleFields  = []string{"collective", "ranks", "bytes", "hosts", "place", "multicast", "memory", "rings", "algorithm", "params", "reason"}
	rangeFields = []string{"min", "max"}
	paramFields = []string{"degree", "fan-in", "fan-out", "chunks", "chunk", "masters"}
)

// maxReason bounds the reason of a rule, in bytes.
const maxReason = 256

// Parse reads a table of rules in the form of schedgen (docs/selection.md). The error names the
// line of the first fault. Faults include unknown fields, algorithms and parameters, duplicate
// names, a case that no rule fits, and an idle rule. The error is a *FormError if the file is known
// to be something else.
func Parse(data []byte) (*Rules, error) {
	if err := otherForm(data, forms.Rules); err != nil {
		return nil, err
	}
	root, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	if err := root.known("rules", fileFields...); err != nil {
		return nil, err
	}
	if err := root.format(); err != nil {
		return nil, err
	}
	all := root.get("rules")
	if all == nil {
		return nil, faultf(root.line, `field "rules" is missing`)
	}
	items, err := all.list("rules")
	if err != nil {
		return nil, err
	}
	if len(items) > maxRules {
		return nil, faultf(items[maxRules].line, "rules: at most %d are allowed", maxRules)
	}
	list := make([]Rule, len(items))
	for i, item := range items {
		if list[i], err = item.rule(); err != nil {
			return nil, err
		}
	}
	return New(list)
}

func (n *node) format() error {
	f := n.get("format")
	if f == nil {
		return faultf(n.line, `field "format" is missing: must be %q`, Format)
	}
	name, err := f.word("format")
	if err == nil && name != Format {
		err = faultf(f.line, "format: %s, must be %q", short(name), Format)
	}
	return err
}

// rule reads a rule. New checks whether its parts fit together.
func (n *node) rule() (r Rule, err error) {
	if err := n.known("rule", ruleFields...); err != nil {
		return r, err
	}
	r.Line = n.line
	for _, name := range []string{"collective", "algorithm"} {
		if n.get(name) == nil {
			return r, faultf(n.line, "rule: field %q is missing", name)
		}
	}
	for _, f := range n.fields {
		if err := f.value.into(&r, f.name); err != nil {
			return r, err
		}
	}
	return r, nil
}

// into puts the value of a rule's field into the rule.
func (n *node) into(r *Rule, name string) (err error) {
	switch name {
	case "collective":
		r.Collective, err = n.word(name)
	case "ranks":
		r.Ranks, err = n.bounds(name, 1, schedule.MaxRanks)
	case "bytes":
		r.Bytes, err = n.bounds(name, 0, maxBytes-1)
	case "hosts":
		r.Hosts, err = n.bounds(name, 2, schedule.MaxRanks)
	case "place":
		r.Place, err = n.place()
	case "multicast":
		r.Multicast, err = n.need(name)
	case "memory":
		r.Memory, err = n.need(name)
	case "rings":
		r.Rings, err = n.need(name)
	case "algorithm":
		r.Algorithm, err = n.word(name)
	case "params":
		r.Params, err = n.params()
	case "reason":
		r.Reason, err = n.reason()
	}
	return err
}

// bounds reads a condition on a number in lo … hi. Both bounds are included.
func (n *node) bounds(name string, lo, hi int) (r Range, err error) {
	if err := n.known(name, rangeFields...); err != nil {
		return r, err
	}
	if len(n.fields) == 0 {
		return r, faultf(n.line, "%s: it needs min or max", name)
	}
	for _, f := range n.fields {
		v, err := f.value.whole(name+": "+f.name, lo, hi)
		if err != nil {
			return r, err
		}
		if f.name == "min" {
			r.From = v
		} else {
			r.To = v + 1
		}
	}
	return r, nil
}

func (n *node) place() (Place, error) {
	word, err := n.word("place")
	if err != nil {
		return Anywhere, err
	}
	if i := slices.Index(places, word); i > 0 {
		return Place(i), nil
	}
	return Anywhere, faultf(n.line, "place: %s, must be one of %s", short(word), strings.Join(places[1:], ", "))
}

func (n *node) need(name string) (Need, error) {
	there, err := n.flag(name)
	if there {
		return With, err
	}
	return Without, err
}

func (n *node) params() (p Params, err error) {
	if err := n.known("params", paramFields...); err != nil {
		return p, err
	}
	for _, f := range n.fields {
		if f.name == "masters" {
			if p.Masters, err = f.value.flag(f.name); err != nil {
				return p, err
			}
			continue
		}
		most := schedule.MaxFan
		if f.name == "chunk" {
			most = maxBytes
		}
		field := map[string]*int{"degree": &p.Degree, "fan-in": &p.FanIn, "fan-out": &p.FanOut, "chunks": &p.Chunks, "chunk": &p.Chunk}[f.name]
		if *field, err = f.value.whole(f.name, 1, most); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (n *node) reason() (string, error) {
	text, err := n.word("reason")
	switch {
	case err != nil:
	case len(text) > maxReason:
		err = faultf(n.line, "reason: %d bytes, at most %d are allowed", len(text), maxReason)
	case strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
		err = faultf(n.line, "reason: %s has what cannot be printed", short(text))
	}
	return text, err
}
