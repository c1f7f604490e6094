package unpack

// behindLen is how much of a file is handed to the disk at a time while more comes, in bytes.
const behindLen = 8 << 20

// behind hands what was written of a file to the disk while more comes. Systems may keep gigabytes
// in memory before they begin by themselves, and all of that would be left to be waited for in the
// end. It waits for nothing itself: while the disk takes some, what is written collects.
type behind struct {
	from, to int64 // a stretch that was written, and not handed over
	over     chan struct{}
}

// wrote takes note of n bytes of f at a place.
func (b *behind) wrote(f File, at, n int64) {
	if at != b.to { // what lies between is left to the end
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
			return // the disk still takes what was handed over before
		}
	}
	over, from, n := make(chan struct{}), b.from, b.to-b.from
	b.over, b.from = over, b.to
	go func() {
		defer close(over)
		f.Begin(from, n)
	}()
}

// wait returns when f is not used any more.
func (b *behind) wait() {
	if b.over != nil {
		<-b.over
	}
}
