package sim

// entry is one element of a list. It is a rule that has fired and has sends left, with the number
// of its first remaining send, or a message that has come, with its own number.
type entry struct {
	seq uint64
	// what is the first remaining send of the rule, or gateRule. For a message it is the slot, or
	// the bundle.
	what int32
	from int32 // one past the last send of the rule; for a message the same as event.from
	next int32
}

// advance skips the first send of a rule.
func (x *entry) advance() {
	x.seq++
	x.what++
}

// list is a first-in first-out list of entries of a pool. Entries are numbered from 1, so the zero
// value is empty.
type list struct{ first, last int32 }

// pool holds the entries of all lists. Free entries form a list.
type pool struct {
	entries pages[entry]
	free    int32
}

func (p *pool) at(i int32) *entry { return p.entries.at(i) }

func (p *pool) put(l *list, x entry) {
	i := p.free
	if i > 0 {
		p.free = p.at(i).next
	} else {
		i = p.entries.add()
	}
	*p.at(i) = x
	if l.first == 0 {
		l.first = i
	} else {
		p.at(l.last).next = i
	}
	l.last = i
}

// dropFirst removes the first entry of l, which must not be empty.
func (p *pool) dropFirst(l *list) {
	i := l.first
	l.first = p.at(i).next
	p.at(i).next, p.free = p.free, i
}

func (p *pool) clear() {
	p.entries.clear()
	p.free = 0
}
