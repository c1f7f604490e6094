package unpack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// sluggish is a file whose disk takes a stretch only when the test lets it.
type sluggish struct {
	File
	begun chan [2]int64 // stretches, from and to
	taken chan struct{}
}

func (s sluggish) Begin(at, n int64) {
	s.begun <- [2]int64{at, at + n}
	<-s.taken
}

// Written data are handed to the disk while more come: each byte once, in long stretches, without
// waiting for the disk.
func TestBehind(t *testing.T) {
	s := sluggish{nil, make(chan [2]int64, 1), make(chan struct{})}
	var b behind
	at := int64(0)
	write := func(n int64) { b.wrote(s, at, n); at += n }
	write(behindLen - 1)
	require.Nil(t, b.over, "it is little")
	write(1)
	require.Equal(t, [2]int64{0, behindLen}, <-s.begun)
	for i := range int64(100) {
		write(1 + i*12345)
	}
	require.Empty(t, s.begun, "the disk is busy")
	s.taken <- struct{}{}
	b.wait()
	write(1)
	require.Equal(t, [2]int64{behindLen, at}, <-s.begun, "all that has collected")
	at += 5
	write(behindLen)
	s.taken <- struct{}{}
	b.wait()
	write(1)
	require.Equal(t, [2]int64{at - behindLen - 1, at}, <-s.begun, "what lies before a hole is left to the end")
	close(s.taken)
	b.wait()
}
