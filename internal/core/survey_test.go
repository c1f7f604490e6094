package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/survey"
	"github.com/schedgen/schedgen/internal/test/ether"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// adds is a sum of uint64.
var adds = Fold{Name: "sum of uint64", Element: 8, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(a[i:])+binary.LittleEndian.Uint64(b[i:]))
	}
}}

// reply returns a rank's answer to a question, with some elements.
func reply(rank, elements int, question []byte) (data []byte) {
	n := uint64(1) << (5 * rank)
	for _, b := range question {
		n *= uint64(b)
	}
	for range elements {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return data
}

// replies returns the sum of the answers of all ranks.
func replies(size, elements int, question []byte) []byte {
	sum := reply(0, elements, question)
	for rank := 1; rank < size; rank++ {
		adds.Kernel(sum, sum, reply(rank, elements, question))
	}
	return sum
}

// surveyed returns cores that answer questions, except the ranks in mute.
func surveyed(t require.TestingT, name string, size, window int, mute ...int) *lanes {
	spec, err := schedule.New(name, schedule.Params{Ranks: size})
	require.NoError(t, err)
	l := newLanes(size)
	for r := range size {
		l.cores[r] = New(Config{
			Rank: r, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: nowhere{}, AskOverlay: spec.Overlay(),
			PublishPrint: 1, PublishWindow: window, PublishBytes: 100, MaxMessage: 50,
		}, l.net(r))
		if !slices.Contains(mute, r) {
			l.cores[r].Answers(&adds, true)
		}
	}
	return l
}

// settle delivers everything, and lets the ranks do their tasks, by answer or as they learn, until
// nothing moves.
func (l *lanes) settle(t require.TestingT, answer func(rank int, q Message) []byte, learn func(rank int, task Task)) {
	for moved := true; moved; {
		moved = l.deliverAll(t)
		for r, c := range l.cores {
			if task, ok := c.TakeTask(); ok {
				moved = true
				if !task.Learn {
					c.Answer(task.Question.Origin, task.Question.Seq, answer(r, task.Question))
				} else if learn != nil {
					learn(r, task)
				}
			}
		}
	}
}

func one(rank int, q Message) []byte { return reply(rank, 1, q.Data) }

var surveyNames = []string{"anyreduce/skip-ring", "anyreduce/circulant"}

// Every rank answers every question once, in the order of its origin. All get the sum of all
// answers, whatever the order of deliveries and however long a rank takes to answer.
func TestSurveys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		window := rapid.IntRange(1, 3).Draw(t, "window")
		l := surveyed(t, rapid.SampledFrom(surveyNames).Draw(t, "overlay"), size, window)
		const each = 3
		next, learnt := make([][]uint64, size), make([][]int, size)
		asked, got := make([]uint64, size), make([][]uint64, size)
		busy := make([]*Task, size)
		for r := range size {
			next[r], learnt[r] = make([]uint64, size), make([]int, size)
		}
		question := func(origin int, seq uint64) []byte { return []byte{byte(3 + origin), byte(1 + seq)} }
		for steps := 0; ; steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			r := rapid.IntRange(0, size-1).Draw(t, "rank")
			c := l.cores[r]
			if asked[r] < each && c.CanAsk() {
				require.Equal(t, asked[r], c.Ask(question(r, asked[r])))
				asked[r]++
			}
			l.deliver(t, rapid.IntRange(0, 1<<20).Draw(t, "lane"))
			if busy[r] != nil {
				q := busy[r].Question
				c.Answer(q.Origin, q.Seq, reply(r, 2, q.Data))
				busy[r] = nil
			} else if task, ok := c.TakeTask(); ok {
				q := task.Question
				require.Equal(t, question(q.Origin, q.Seq), q.Data)
				if task.Learn {
					require.NoError(t, task.Err)
					require.Equal(t, replies(size, 2, q.Data), task.Data)
					require.Equal(t, int(q.Seq), learnt[r][q.Origin])
					learnt[r][q.Origin]++
				} else {
					require.Equal(t, next[r][q.Origin], q.Seq)
					next[r][q.Origin]++
					busy[r] = &task
				}
			}
			for seq := range asked[r] {
				if data, err, ok := c.Result(seq); ok {
					require.NoError(t, err)
					require.Equal(t, replies(size, 2, question(r, seq)), data)
					got[r] = append(got[r], seq)
				}
			}
			done := true
			for r, c := range l.cores {
				require.NoError(t, c.Err())
				require.LessOrEqual(t, len(c.surveys.tasks), 2*window*size)
				done = done && len(got[r]) == each && busy[r] == nil
				for o := range size {
					done = done && learnt[r][o] == each
				}
			}
			if done {
				for _, c := range l.cores {
					require.Zero(t, c.surveys.waiting)
					require.Empty(t, c.surveys.tasks)
					require.Empty(t, c.surveys.done)
					for _, a := range c.surveys.askers {
						require.Empty(t, a.open)
					}
				}
				return
			}
		}
	})
}

// airDatagram is the length of a datagram in which multicasts travel.
const airDatagram = 32

// air returns one rank's Net, which multicasts in datagrams.
func (l *lanes) air(rank int) Net { return ether.Net{Ether: l.Ether, Rank: rank, Piece: airDatagram} }

// Questions and results that are multicast have the same promises, whichever datagrams are lost,
// doubled or late. At the end no timer runs, and every rank has acknowledged everything.
func TestMulticastQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, window := rapid.IntRange(2, 9).Draw(t, "size"), rapid.IntRange(1, 3).Draw(t, "window")
		loss := rapid.SampledFrom([]int{0, 10, 50, 100}).Draw(t, "loss")
		room := rapid.SampledFrom([]int{0, 100, 1000}).Draw(t, "room")
		spec, err := schedule.New("anyreduce/mcast-acktree", schedule.Params{Ranks: size})
		require.NoError(t, err)
		a := newLanes(size)
		for r := range size {
			a.cores[r] = New(Config{
				Rank: r, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: nowhere{}, AskOverlay: spec.Overlay(), AskSpread: true,
				PublishPrint: 1, PublishWindow: window, PublishBytes: 100, MaxMessage: 50,
				Caps: wire.Caps{Multicast: true, Direct: true, Datagram: airDatagram, Room: room},
			}, a.air(r))
			a.cores[r].Answers(&adds, true)
		}
		const each = 4
		question := func(origin int, seq uint64) []byte { return slices.Repeat([]byte{byte(3 + origin)}, 1+int(seq)*9) }
		asked, learnt := make([]uint64, size), make([][]uint64, size)
		for r := range size {
			learnt[r] = make([]uint64, size)
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // a draw of each step would take most of the time
		now := Time(1)
		for steps := 0; ; steps++ {
			require.Less(t, steps, 200_000, "it does not end")
			now += Time(random.IntN(3)) * 1e6
			r := random.IntN(size)
			c := a.cores[r]
			if asked[r] < each && c.CanAsk() {
				require.Equal(t, asked[r], c.Ask(question(r, asked[r])))
				asked[r]++
			}
			a.deliver(t, random.IntN(1<<20))
			if n := len(a.Grams); n > 0 {
				i := random.IntN(min(n, 8))
				g := a.Grams[i]
				if random.IntN(10) > 0 {
					a.Grams = slices.Delete(a.Grams, i, i+1) // otherwise it comes twice
				}
				if random.IntN(100) >= loss {
					a.cores[g.To].Fragment(&g.Header, g.Offset, g.Body)
				}
			}
			c.Tick(now)
			if task, ok := c.TakeTask(); ok {
				q := task.Question
				if !bytes.Equal(question(q.Origin, q.Seq), q.Data) {
					t.Fatalf("rank %d gets % x as question %d of rank %d", r, q.Data, q.Seq, q.Origin)
				}
				if !task.Learn {
					c.Answer(q.Origin, q.Seq, reply(r, 1, []byte{byte(1 + q.Seq)}))
				} else {
					require.NoError(t, task.Err)
					require.Equal(t, replies(size, 1, []byte{byte(1 + q.Seq)}), task.Data)
					require.Equal(t, learnt[r][q.Origin], q.Seq)
					learnt[r][q.Origin]++
				}
			}
			done := len(a.Grams) == 0
			for r, c := range a.cores {
				if c.Err() != nil {
					t.Fatal(c.Err())
				}
				for seq := range asked[r] {
					c.Result(seq)
				}
				for o := range size {
					done = done && learnt[r][o] == each
				}
				done = done && !c.surveys.messages.Timed()
			}
			done = done && len(a.Busy()) == 0
			if done {
				for r, c := range a.cores {
					require.True(t, c.surveys.messages.Flushed(2*each), "rank %d", r)
					require.Zero(t, c.surveys.waiting)
					for _, by := range c.surveys.askers {
						require.Empty(t, by.open)
					}
				}
				return
			}
		}
	})
}

// Without loss a question takes two multicasts and an answer of each other rank: the answers are the
// acknowledgements. Acknowledgements of the last result follow when the time for them has come.
func TestAnswersAcknowledge(t *testing.T) {
	const size = 6
	spec, err := schedule.New("anyreduce/mcast-acktree", schedule.Params{Ranks: size})
	require.NoError(t, err)
	a := newLanes(size)
	for r := range size {
		a.cores[r] = New(Config{
			Rank: r, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: nowhere{}, AskOverlay: spec.Overlay(), AskSpread: true,
			PublishPrint: 1, PublishWindow: 4, PublishBytes: 1000, MaxMessage: 50, Caps: wire.Caps{Multicast: true, Direct: true, Datagram: airDatagram},
		}, a.air(r))
		a.cores[r].Answers(&adds, false)
	}
	puts, grams := map[wire.FrameKind]int{}, 0
	run := func() {
		for moved := true; moved; {
			moved = len(a.Grams) > 0
			for _, g := range a.Grams {
				grams++
				require.Equal(t, wire.Accept, a.cores[g.To].Fragment(&g.Header, g.Offset, g.Body))
			}
			a.Grams = nil
			for _, i := range a.Busy() {
				for len(a.Lanes[i]) > 0 {
					puts[a.Lanes[i][0].Kind]++
					moved = a.deliverIn(t, i) || moved
				}
			}
			for r, c := range a.cores {
				for task, ok := c.TakeTask(); ok; task, ok = c.TakeTask() {
					c.Answer(task.Question.Origin, task.Question.Seq, one(r, task.Question))
					moved = true
				}
			}
		}
	}
	const questions = 3
	for seq := range uint64(questions) {
		require.True(t, a.cores[2].CanAsk())
		require.Equal(t, seq, a.cores[2].Ask([]byte{2}))
		run()
		data, err, _ := a.cores[2].Result(seq)
		require.NoError(t, err)
		require.Equal(t, replies(size, 1, []byte{2}), data)
	}
	require.Equal(t, map[wire.FrameKind]int{wire.FrameAnswer: questions * (size - 1)}, puts)
	require.Equal(t, 2*questions*(size-1), grams)
	for _, c := range a.cores {
		c.Tick(1)
		c.Tick(6e6)
	}
	run()
	require.Equal(t, map[wire.FrameKind]int{wire.FrameAnswer: questions * (size - 1), wire.FrameAck: size - 1}, puts)
}

// unanswered checks the error of a question, and returns it.
func unanswered(t *testing.T, err error, rank int, text string) *AskError {
	t.Helper()
	require.ErrorIs(t, err, ErrUnanswered)
	require.ErrorContains(t, err, text)
	var about *RankError
	require.ErrorAs(t, err, &about)
	require.Equal(t, rank, about.Rank, "%v", err)
	var of *AskError
	require.ErrorAs(t, err, &of)
	return of
}

// If a rank cannot answer, the question fails with an error that names the rank, the same at all
// ranks. The cores work on.
func TestRefusals(t *testing.T) {
	const size, odd = 7, 5
	others := []int{0, 1, 2, 3, 4, 6}
	for _, name := range surveyNames {
		for origin := range size {
			cases := map[string]struct {
				mute   []int
				other  bool // the rank answers by another operation
				answer func(rank int, q Message) []byte
				text   string
			}{
				"no handler":        {[]int{odd}, false, one, "it has no handler for questions"},
				"another operation": {[]int{odd}, true, one, ""},
				"another length": {nil, false, func(rank int, q Message) []byte {
					return reply(rank, 1+map[int]int{odd: 1}[rank], q.Data)
				}, "elements"},
				"too long": {nil, false, func(rank int, q Message) []byte {
					return reply(rank, 1+map[int]int{odd: 6}[rank], q.Data)
				}, "its answer has 56 bytes, at most 50"},
			}
			for what, c := range cases {
				if origin == odd && !c.other {
					continue
				}
				t.Run(fmt.Sprint(name, " ", origin, " ", what), func(t *testing.T) {
					l := surveyed(t, name, size, 2, c.mute...)
					if c.other {
						l.cores[odd].Answers(&Fold{Name: "max of int8", Element: 1}, false)
					}
					if origin == odd {
						l.cores[odd].Answers(&Fold{Name: "max of int8", Element: 8, Kernel: adds.Kernel}, false)
					}
					seq := l.cores[origin].Ask([]byte{2})
					learnt := 0
					l.settle(t, c.answer, func(rank int, task Task) {
						learnt++
						if origin != odd {
							unanswered(t, task.Err, odd, c.text)
						}
					})
					require.True(t, l.cores[origin].Asked(seq))
					_, err, ok := l.cores[origin].Result(seq)
					require.True(t, ok)
					if origin == odd { // all others answer by another operation than the one asked for
						of := unanswered(t, err, (odd+1)%size, "it answers by sum of uint64, and rank 5 asks for max of int8")
						require.Equal(t, []int{odd}, of.Answered)
						return
					}
					of := unanswered(t, err, odd, c.text)
					require.Equal(t, origin, of.Origin)
					if what != "another length" {
						require.Equal(t, others, of.Answered)
					}
					require.NotContains(t, of.Answered, odd)
					require.GreaterOrEqual(t, learnt, size-1)
					for _, c := range l.cores {
						require.NoError(t, c.Err())
					}
				})
			}
		}
	}
}

// If a rank leaves at any moment, questions still end, with the sum of all answers or with an error
// that names the rank, at the asker and at all others that have got the question.
func TestAnsweringRankLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 9).Draw(t, "size")
		l := surveyed(t, rapid.SampledFrom(surveyNames).Draw(t, "overlay"), size, 2)
		origin := rapid.IntRange(0, size-1).Draw(t, "origin")
		leaver := (origin + rapid.IntRange(1, size-1).Draw(t, "leaver")) % size
		c := l.cores[origin]
		first := c.Ask([]byte{2})
		for range rapid.IntRange(0, 6*size).Draw(t, "steps") {
			l.deliver(t, rapid.IntRange(0, 1<<20).Draw(t, "lane"))
			r := rapid.IntRange(0, size-1).Draw(t, "rank")
			if task, ok := l.cores[r].TakeTask(); ok && !task.Learn {
				l.cores[r].Answer(origin, task.Question.Seq, one(r, task.Question))
			}
		}
		require.True(t, l.cores[leaver].Close(errors.New("closed")))
		l.cores[leaver].Goodbye(true)
		l.settle(t, one, nil)
		seqs := []uint64{first, c.Ask([]byte{3})}
		l.settle(t, one, nil)
		for i, seq := range seqs {
			data, err, ok := c.Result(seq)
			require.True(t, ok, "question %d", i)
			if i == 0 && err == nil {
				require.Equal(t, replies(size, 1, []byte{2}), data)
				continue
			}
			require.ErrorIs(t, err, ErrPeerLeft)
			require.ErrorIs(t, err, ErrUnanswered)
			require.ErrorContains(t, err, fmt.Sprintf("rank %d: ", leaver))
			var of *AskError
			require.ErrorAs(t, err, &of)
			require.NotContains(t, of.Answered, leaver)
			require.Contains(t, of.Answered, origin)
		}
		for r, c := range l.cores {
			if r != leaver {
				require.NoError(t, c.Err())
				for _, a := range c.surveys.askers {
					if a != nil {
						require.Empty(t, a.open, "rank %d", r)
					}
				}
			}
		}
	})
}

// If a rank dies, the asker and all others learn it, and report the same answers.
func TestAnsweringRankDies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(3, 9).Draw(t, "size")
		l := surveyed(t, rapid.SampledFrom(surveyNames).Draw(t, "overlay"), size, 2)
		dead := rapid.IntRange(0, size-1).Draw(t, "dead")
		askers := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, 2, rapid.ID).Draw(t, "askers")
		seqs := make(map[int]uint64)
		for _, r := range askers {
			seqs[r] = l.cores[r].Ask([]byte{byte(2 + r)})
		}
		answered := make([]map[int]bool, size) // by origin: ranks
		for r := range answered {
			answered[r] = make(map[int]bool)
		}
		answer := func(r int) {
			if task, ok := l.cores[r].TakeTask(); ok && !task.Learn {
				answered[task.Question.Origin][r] = true
				l.cores[r].Answer(task.Question.Origin, task.Question.Seq, one(r, task.Question))
			}
		}
		for range rapid.IntRange(0, 5*size).Draw(t, "steps") {
			l.deliver(t, rapid.IntRange(0, 1<<20).Draw(t, "lane"))
			if r := rapid.IntRange(0, size-1).Draw(t, "rank"); r != dead { // it dies while it answers
				answer(r)
			}
		}
		for r := range size {
			l.lose(dead, r)
			l.lose(r, dead)
		}
		l.cores[dead] = nil
		for r, c := range l.cores {
			if r != dead {
				c.Ended(dead, wire.Broken, errors.New("gone"))
			}
		}
		for range 4 {
			l.deliverAll(t)
			for r, c := range l.cores {
				if r != dead {
					c.Tick(Time(1e9))
				}
			}
		}
		var told []Answers
		for r, c := range l.cores {
			if r == dead {
				continue
			}
			var lost *LostError
			require.ErrorAs(t, c.Err(), &lost)
			require.Equal(t, []int{dead}, lost.Ranks)
			if told == nil {
				told = lost.Answers
			}
			require.Equal(t, told, lost.Answers, "rank %d", r)
			for _, a := range lost.Answers {
				for _, rank := range a.Answered {
					require.True(t, answered[a.Origin][rank], "rank %d has not answered rank %d", rank, a.Origin)
				}
				require.NotContains(t, a.Answered, dead)
			}
			for {
				task, ok := c.TakeTask()
				if !ok {
					break
				}
				if require.True(t, task.Learn); task.Err != nil {
					var of *AskError
					require.ErrorAs(t, task.Err, &of)
					require.ErrorIs(t, task.Err, ErrPeerLost)
					require.Contains(t, lost.Answers, Answers{Origin: of.Origin, Seq: of.Seq, Answered: of.Answered})
				}
			}
			if seq, asks := seqs[r]; asks {
				require.True(t, c.Asked(seq))
				_, err, _ := c.Result(seq)
				require.ErrorIs(t, err, ErrPeerLost)
				require.ErrorContains(t, err, fmt.Sprintf("rank %d: ", dead))
				var of *AskError
				require.ErrorAs(t, err, &of)
				for rank := range answered[r] {
					require.Contains(t, of.Answered, rank)
				}
			}
		}
	})
}

// A question whose asker no longer waits ends at all ranks, and leaves no state.
func TestDisregarded(t *testing.T) {
	l := surveyed(t, "anyreduce/circulant", 4, 1)
	seq := l.cores[1].Ask([]byte{2})
	require.False(t, l.cores[1].CanAsk(), "the window is full")
	require.Equal(t, []OpenQuestion{{1, 0, []int{1, 2, 3}}}, l.cores[1].Inspect(1).Questions)
	l.cores[1].Disregard(seq)
	learnt := 0
	l.settle(t, one, func(rank int, task Task) {
		learnt++
		require.Equal(t, replies(4, 1, []byte{2}), task.Data)
	})
	require.Equal(t, 4, learnt)
	require.Empty(t, l.cores[1].surveys.done)
	require.True(t, l.cores[1].CanAsk())
	require.Empty(t, l.cores[1].Inspect(1).Questions)
	seq = l.cores[1].Ask([]byte{3})
	l.settle(t, one, nil)
	l.cores[1].Disregard(seq)
	require.Empty(t, l.cores[1].surveys.done)
}

// The bytes of a rank's open questions and of its answers to them are limited. The first question
// may always be asked.
func TestBytesOfQuestions(t *testing.T) {
	l := surveyed(t, "anyreduce/circulant", 2, 10)
	c := l.cores[0]
	c.Ask(make([]byte, 50))
	require.True(t, c.CanAsk())
	c.Ask(make([]byte, 50))
	require.False(t, c.CanAsk())
	l.settle(t, one, nil)
	require.True(t, c.CanAsk())
}

// Frames that no correct rank sends fail the core.
func TestHostileQuestions(t *testing.T) {
	of := func(k wire.FrameKind, origin uint32, seq uint64, body ...byte) wire.Frame {
		return wire.Frame{Header: wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, Print: 1, From: 1, Arg: origin, Seq: seq, Len: len(body)}, Body: body}
	}
	refused := survey.Answer{Refusal: &survey.Refusal{Rank: 2, Cause: survey.Left}}.Append(nil)
	for what, c := range map[string]struct {
		f    wire.Frame
		want string
	}{
		"of nobody":               {of(wire.FramePublish, 9, 0, 0), "message of origin 6 with 1 bytes"},
		"of this rank":            {of(wire.FramePublish, 3, 0, 0), "message of origin 0 with 1 bytes"},
		"too far":                 {of(wire.FramePublish, 4, 6, 0), "origin 1 sends more than its window"},
		"of no kind":              {of(wire.FramePublish, 4, 0, 2, 0), "message 0 of rank 1 about questions: 2 bytes"},
		"without an operation":    {of(wire.FramePublish, 4, 0, 0), "message 0 of rank 1 about questions: 1 bytes"},
		"too long":                {of(wire.FramePublish, 4, 0, make([]byte, 312)...), "a question of 311 bytes"},
		"far too long":            {of(wire.FramePublish, 4, 0, make([]byte, 400)...), "message of origin 1 with 400 bytes"},
		"with half an operation":  {of(wire.FramePublish, 4, 0, 0, 9, 'x'), "its operation has 9 of 1 bytes"},
		"result without a number": {of(wire.FramePublish, 4, 0, 1, 0, 0), "a result of 3 bytes"},
		"result of nothing":       {of(wire.FramePublish, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0), "question 0 has not been asked"},
		"answer to nothing":       {of(wire.FrameAnswer, 0, 5, 0), "answer to question 5 of rank 0: it has not been asked"},
		"answer of a stranger":    {of(wire.FrameAnswer, 1, 0, 0), "it has not been asked"},
		"answer without a cause":  {of(wire.FrameAnswer, 0, 0), "0 bytes"},
		"answer with a wrong one": {of(wire.FrameAnswer, 0, 0, 77, 0, 0), "a refusal for cause 77 in 3 bytes"},
		"end of this rank's":      {of(wire.FrameUnanswered, 0, 0, 0), "end of question 0 of rank 0: it is of that rank"},
		"end of nothing":          {of(wire.FrameUnanswered, 2, 0, refused...), "it has not been asked"},
	} {
		t.Run(what, func(t *testing.T) {
			l := surveyed(t, "anyreduce/circulant", 3, 2)
			l.cores[0].Ask([]byte{1})
			dst, v := l.cores[0].Body(&c.f.Header)
			if v == wire.Accept {
				copy(dst, c.f.Body)
				l.cores[0].Arrived(&c.f.Header, dst)
			}
			require.ErrorIs(t, l.cores[0].Err(), ErrProtocol)
			require.ErrorContains(t, l.cores[0].Err(), c.want)
		})
	}
	l := surveyed(t, "anyreduce/circulant", 3, 1)
	l.cores[1].Ask([]byte{1})
	deliver := func(f wire.Frame) {
		if dst, v := l.cores[0].Body(&f.Header); v == wire.Accept {
			copy(dst, f.Body)
			l.cores[0].Arrived(&f.Header, dst)
		}
	}
	deliver(of(wire.FramePublish, 4, 0, 0, 0))
	require.NoError(t, l.cores[0].Err())
	deliver(of(wire.FramePublish, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	require.ErrorContains(t, l.cores[0].Err(), "answers are missing")

	l = surveyed(t, "anyreduce/circulant", 3, 1)
	deliver(of(wire.FramePublish, 4, 0, 0, 0))
	deliver(of(wire.FrameUnanswered, 1, 0, 0))
	require.ErrorContains(t, l.cores[0].Err(), "it has a result")

	l = surveyed(t, "anyreduce/circulant", 3, 1)
	l.cores[0].Ask(nil)
	boast := of(wire.FrameAnswer, 0, 0, 0)
	boast.Slot = 2
	deliver(boast)
	require.ErrorContains(t, l.cores[0].Err(), "it acknowledges messages that do not exist")
}

// A rank that uses other trees or windows causes a mismatch, and not a violation.
func TestQuestionsUnderOtherTrees(t *testing.T) {
	l := surveyed(t, "anyreduce/circulant", 3, 1)
	f := wire.Header{Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: 1, Print: 2, From: 1, Arg: 4, Len: 1}
	_, v := l.cores[0].Body(&f)
	require.Equal(t, wire.Drop, v)
	require.NotErrorIs(t, l.cores[0].Err(), ErrProtocol)
	require.NotEmpty(t, *l.Lane(0, 1, wire.LaneControl))
}

// Whatever ranks answer, the error blames a rank that cannot answer, or whose answer has another
// length than that of the rank that asks. It counts each other rank either among the answers or
// among those that the fold lacks, and says of no rank both that it has answered and that it has
// not.
func TestErrorsOfAllAnswers(t *testing.T) {
	const size, origin, mute = 4, 1, 3 // kinds of answers: that many elements, or none because the rank has no handler
	for _, name := range surveyNames {
		for code := range 1 << (2 * size) {
			kind := func(rank int) int { return code >> (2 * rank) & 3 }
			var mutes []int
			for r := range size {
				if kind(r) == mute {
					mutes = append(mutes, r)
				}
			}
			if kind(origin) == mute {
				continue // it cannot ask
			}
			l := surveyed(t, name, size, 1, mutes...)
			seq := l.cores[origin].Ask([]byte{2})
			l.settle(t, func(rank int, q Message) []byte { return reply(rank, kind(rank), q.Data) }, nil)
			_, err, ok := l.cores[origin].Result(seq)
			require.True(t, ok)
			var of *AskError
			if !errors.As(err, &of) {
				require.NoError(t, err)
				require.Equal(t, kind(origin)*0b01010101, code)
				continue
			}
			var about *RankError
			require.ErrorAs(t, err, &about)
			odd := about.Rank
			require.True(t, kind(odd) == mute || kind(odd) != kind(origin), "%b: %v", code, err)
			why := "it has no handler for questions"
			if kind(odd) != mute {
				var of string
				for r := range size {
					if s := fmt.Sprintf("and that of rank %d has %d", r, kind(r)); kind(r) != mute && kind(r) != kind(odd) && strings.Contains(err.Error(), s) {
						of = s
					}
				}
				require.NotEmpty(t, of, "%b: %v", code, err)
				why = fmt.Sprintf("its answer has %s, %s", words.Count(int64(kind(odd)), "element", "elements"), of)
			}
			var others []int
			for r := range size {
				if r != odd && !slices.Contains(of.Answered, r) {
					others = append(others, r)
				}
			}
			lacks := ""
			switch len(others) {
			case 0:
			case 1:
				lacks = fmt.Sprintf("; the fold also lacks the answer of rank %d", others[0])
			default:
				lacks = "; the fold also lacks the answers of ranks " + words.List(others)
			}
			in := words.Count(int64(len(of.Answered)), "answer", "answers")
			require.EqualError(t, err, fmt.Sprintf("ask: question 0 of rank 1, with %s: rank %d: no usable answer: %s%s", in, odd, why, lacks))
		}
	}
}

func TestAskErrorSaysHowManyHaveAnswered(t *testing.T) {
	e := &AskError{Origin: 2, Seq: 4, Answered: []int{2, 3}, Err: errors.New("why")}
	require.True(t, strings.HasPrefix(e.Error(), "ask: question 4 of rank 2, with 2 answers: why"))
}
