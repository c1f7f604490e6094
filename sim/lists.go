package sim

// entry is one element of a list: what a rule that has fired has left to send, with the
// number of the first send of it, or a message that has come, with its own.
type entry struct {
	seq  uint64
	what int32 // the first send of the rule that is left, or gateRule; the slot of the message, or its bundle
	from int32 // behind its last send; of a message what event.from says
	next int32
}

// advance leaves out the first send of a rule.
func (x *entry) advance() {
	x.seq++
	x.what++
}

// list is a first-in first-out list of entries of a pool, numbered from 1 so that
// the zero value is empty.
type list struct{ first, last int32 }

// pool is the entries of all lists; those that are free form a list.
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

// dropFirst removes the first entry of l; there must be one.
func (p *pool) dropFirst(l *list) {
	i := l.first
	l.first = p.at(i).next
	p.at(i).next, p.free = p.free, i
}

func (p *pool) clear() {
	p.entries.clear()
	p.free = 0
}
