package unpack

// behindLen is the length of the stretches that are handed to the disk while more data come, in
// bytes.
const behindLen = 8 << 20

// behind hands written data of a file to the disk while more data come. A system may keep gigabytes
// in memory before it begins to write by itself, and the receiver would have to wait for them at
// the end. behind does not wait: while the disk takes a stretch, further data collect.
type behind struct {
	from, to int64 // stretch that was written and not handed over
	over     chan struct{}
}

// wrote records that n bytes of f were written at byte at.
func (b *behind) wrote(f File, at, n int64) {
	if at != b.to { // the part between is left to Sync
		b.from = at
	}
	b.to = at + n
	if b.to-b.from < behindLen {
		return
	}
	if b.over != nil {
		select {
		case <-b.over:
		default:
			return // the disk still takes the stretch before
		}
	}
	over, from, n := make(chan struct{}), b.from, b.to-b.from
	b.over, b.from = over, b.to
	go func() {
		defer close(over)
		f.Begin(from, n)
	}()
}

// wait waits until f is no longer used.
func (b *behind) wait() {
	if b.over != nil {
		<-b.over
	}
}
