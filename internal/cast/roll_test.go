package cast

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Accounts of any length come unchanged, in each roll call.
func TestRoll(t *testing.T) {
	const ranks = 4
	comms := join(t, ranks, mem.Options{Loss: 0.1, Seed: 3}, tree)
	lengths := []int{0, 1, answerLen - 1, answerLen, answerLen + 1, 5*answerLen + 7}
	var all sync.WaitGroup
	for rank, comm := range comms {
		all.Go(func() {
			var hearing sync.WaitGroup
			r := hear(t.Context(), &hearing, comm, func(*account) {})
			for turn := range 2 * len(lengths) {
				answer := func(rank int) []byte { return text(uint64(rank), lengths[(turn+rank)%len(lengths)]) }
				got, err := r.call(t.Context(), account{Rank: rank, Sender: rank == 0, Have: uint64(turn), Answer: answer(rank)})
				if err != nil {
					t.Error(err)
					break
				}
				for from, a := range got {
					if a.Rank != from || a.Have != uint64(turn) || !bytes.Equal(a.Answer, answer(from)) {
						t.Errorf("rank %d hears of rank %d in turn %d: rank %d, turn %d, %d bytes", rank, from, turn, a.Rank, a.Have, len(a.Answer))
					}
				}
			}
			if err := comm.Close(); err != nil {
				t.Error(err)
			}
			hearing.Wait()
		})
	}
	all.Wait()
}

// Messages that are not accounts are ignored, and answers are bounded.
func TestOddAccounts(t *testing.T) {
	var told []*account
	r := &roll{tell: func(a *account) { told = append(told, a) }, parts: make([]*account, 2), said: make([][]*account, 2), fresh: make(chan struct{}, 1)}
	say := func(text string) { r.take(runtime.Message{Origin: 1, Data: []byte(text)}) }
	for _, odd := range []string{"", "{", "[]", `{"rank":-1e99}`, "\x00"} {
		say(odd)
	}
	require.Empty(t, told)
	require.Nil(t, r.pop(1))
	say(`{"rank":1,"done":true,"roll":true,"more":true,"answer":"YQ=="}`)
	require.Nil(t, r.pop(1), "not all has come")
	r.parts[1].Answer = make([]byte, maxAnswer)
	say(`{"rank":1,"done":true,"roll":true,"more":true,"answer":"YQ=="}`)
	say(`{"rank":1,"done":true,"roll":true}`)
	require.Len(t, told, 1)
	require.False(t, told[0].Done)
	require.Equal(t, "it answers with more than 16777216 bytes", told[0].Reason)
	require.Same(t, told[0], r.pop(1))
	require.Nil(t, r.pop(1))
}
