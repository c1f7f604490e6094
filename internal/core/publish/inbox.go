package publish

// parcel is a message on its way through this rank.
type parcel struct {
	data   []byte
	unsent int // ranks to which it has not been handed over
}

// spare holds parcels that this rank needs no more, for other messages.
type spare struct {
	parcels []*parcel
	bytes   int // capacity of all
}

// keep takes a parcel, unless it then has more than a window of messages or their bytes.
func (m *Messages) keep(p *parcel) {
	if s := &m.spare; len(s.parcels) < m.Window && s.bytes+cap(p.data) <= m.Bytes {
		s.parcels = append(s.parcels, p)
		s.bytes += cap(p.data)
	}
}

// parcel returns a parcel for a message of n bytes, new if no spare one fits.
func (m *Messages) parcel(n int) *parcel {
	s := &m.spare
	for i := len(s.parcels) - 1; i >= 0; i-- {
		p := s.parcels[i]
		if p.data == nil { // the process has got its bytes
			p.data = make([]byte, n)
			s.bytes += cap(p.data)
		}
		if cap(p.data) >= n && cap(p.data) <= 2*n {
			last := len(s.parcels) - 1
			s.parcels[i], s.parcels[last] = s.parcels[last], nil
			s.parcels = s.parcels[:last]
			s.bytes -= cap(p.data)
			p.data = p.data[:n]
			return p
		}
	}
	return &parcel{data: make([]byte, n)}
}

// inbox is a queue of messages for the process. The windows of all origins bound its length.
type inbox struct {
	letters []letter
	head    int
}

// letter is a message that waits in the ring of its origin's stream.
type letter struct {
	origin int
	seq    uint64
}

func (q *inbox) len() int { return len(q.letters) - q.head }

func (q *inbox) push(l letter) {
	if q.head > 0 && len(q.letters) == cap(q.letters) {
		n := copy(q.letters, q.letters[q.head:])
		clear(q.letters[n:])
		q.letters, q.head = q.letters[:n], 0
	}
	q.letters = append(q.letters, l)
}

func (q *inbox) pop() letter {
	l := q.letters[q.head]
	q.letters[q.head] = letter{}
	q.head++
	if q.head == len(q.letters) {
		q.letters, q.head = q.letters[:0], 0
	}
	return l
}
