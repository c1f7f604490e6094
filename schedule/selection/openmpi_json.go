package selection

import (
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/schedule"
)

// openMPI reads rule_file_version 3 of Open MPI's component tuned: for each collective a list of
// communicator sizes, each with a list of message sizes. Both bounds of a size are included. In
// each list the first entry that fits counts. If none fits, Open MPI's fixed rules decide.
func (n *node) openMPI() (*tuned, error) {
	if err := n.known("rules of Open MPI", "rule_file_version", "module", "collectives", "$schema"); err != nil {
		return nil, err
	}
	version, of := n.get("rule_file_version"), n.get("collectives")
	if version == nil || of == nil {
		return nil, faultf(n.line, "rules of Open MPI: rule_file_version and collectives are both needed")
	}
	if v, err := version.whole("rule_file_version", 0, maxBytes); err != nil || v != 3 {
		return nil, faultf(version.line, "rule_file_version: must be 3")
	}
	if m := n.get("module"); m != nil && m.text != "tuned" {
		return nil, faultf(m.line, `module: must be "tuned"`)
	}
	if of.kind != "object" {
		return nil, faultf(of.line, "collectives: an object was expected, not %s", of.a())
	}
	t := new(tuned)
	for _, f := range of.fields {
		if !ours(f.name) {
			name := f.name
			if !slices.Contains(openMPICollectives, name) {
				name = short(name) // of another version of Open MPI, or misspelled
			}
			t.notef(f.line, "%s", leftOut(name))
			continue
		}
		if err := f.value.communicators(t, f.name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// communicators reads the entries of a collective.
func (n *node) communicators(t *tuned, collective string) error {
	entries, err := n.list(collective)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.communicator(t, collective); err != nil {
			return err
		}
	}
	t.rest(Rule{Collective: collective})
	return nil
}

func (n *node) communicator(t *tuned, collective string) error {
	if err := n.known("communicator", "comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"); err != nil {
		return err
	}
	r := Rule{Collective: collective, Line: n.line}
	var err error
	if r.Ranks, err = n.between("comm_size_min", "comm_size_max"); err != nil {
		return err
	}
	if known, err := n.distribution(t, &r); err != nil || !known {
		return err
	}
	if r.Ranks.To == 1 || r.Ranks.From > schedule.MaxRanks {
		t.notef(n.line, "left out: schedgen has 1 to %d ranks", schedule.MaxRanks)
		return nil
	}
	if r.Ranks.To > schedule.MaxRanks {
		r.Ranks.To = 0
	}
	rules := n.get("rules")
	if rules == nil {
		return faultf(n.line, `communicator: field "rules" is missing`)
	}
	items, err := rules.list("rules")
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := item.message(t, r); err != nil {
			return err
		}
	}
	t.rest(r)
	return nil
}

// distribution reads the condition on the places of ranks. known is false if the condition is of
// another version of Open MPI, and then the caller leaves the entry out.
func (n *node) distribution(t *tuned, r *Rule) (known bool, err error) {
	d := n.get("comm_rank_distribution")
	if d == nil {
		return true, nil
	}
	words := []string{Anywhere: "any", OneHost: "single-node", OneEach: "one-per-node"}
	word, err := d.word("comm_rank_distribution")
	if err != nil {
		return false, err
	}
	i := slices.Index(words, word)
	if i < 0 {
		t.notef(d.line, "left out: comm_rank_distribution is %s, schedgen knows %s", short(word), strings.Join(words, ", "))
		return false, nil
	}
	r.Place = Place(i)
	return true, nil
}

// message reads an entry for message sizes. Open MPI uses size 0 for a barrier.
func (n *node) message(t *tuned, within Rule) error {
	if err := n.known("rule", "msg_size_min", "msg_size_max", "alg", "faninout", "seg_size", "reqs"); err != nil {
		return err
	}
	r := tunedRule{Rule: within}
	r.Line = n.line
	sizes, err := n.between("msg_size_min", "msg_size_max")
	if err != nil {
		return err
	}
	if sized(r.Collective) {
		r.Bytes = sizes
	}
	var alg string
	if r.algorithm, alg, err = n.algorithm(r.Collective); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		to   *int
	}{{"faninout", &r.fan}, {"seg_size", &r.segment}, {"reqs", &r.requests}} {
		if v := n.get(f.name); v != nil {
			if *f.to, err = v.whole(f.name, 0, maxBytes); err != nil {
				return err
			}
		}
	}
	switch {
	case r.algorithm == "":
		t.notef(n.line, "left out: schedgen knows no %s %s of Open MPI", r.Collective, alg)
		return nil
	case !sized(r.Collective) && sizes.From > 0:
		t.notef(n.line, "left out: the size of a %s is 0", r.Collective)
		return nil
	}
	t.addRule(r)
	return nil
}

// algorithm reads an algorithm by its name or number. spelled is the spelling of the file. name is
// "" for an algorithm of another version of Open MPI. Open MPI's reader leaves out such a rule too,
// so that two versions can share a file.
func (n *node) algorithm(collective string) (name, spelled string, err error) {
	a := n.get("alg")
	if a == nil {
		return "", "", faultf(n.line, `rule: field "alg" is missing`)
	}
	if a.kind == "number" {
		id, err := a.whole("alg", 0, maxBytes)
		return openMPIAlgorithm(collective, id), strconv.Itoa(id), err
	}
	name, err = a.word("alg")
	if spelled = short(name); !slices.Contains(openMPIAlgorithms()[collective], name) {
		name = ""
	}
	return name, spelled, err
}

// between reads two bounds, both included. Each may be missing, and the upper one may be "inf".
func (n *node) between(lower, upper string) (r Range, err error) {
	if lo := n.get(lower); lo != nil {
		if r.From, err = lo.whole(lower, 0, maxBytes-1); err != nil {
			return r, err
		}
	}
	hi := n.get(upper)
	if hi == nil || hi.kind == "string" && slices.Contains([]string{"inf", "Inf", "INF"}, hi.text) {
		return r, nil
	}
	if hi.kind == "string" {
		return r, faultf(hi.line, `%s: %s, must be a number or "inf"`, upper, short(hi.text))
	}
	most, err := hi.whole(upper, 0, maxBytes-1)
	if err == nil && most < r.From {
		err = faultf(hi.line, "%s: %d is below %s %d", upper, most, lower, r.From)
	}
	r.To = most + 1
	return r, err
}
