package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// opinion returns a rank's answer to a question: n numbers.
func opinion(q runtime.Message, rank, n int) []byte {
	return content(uint64(rank)<<40|uint64(q.Origin)<<32|q.Seq, 8*n)
}

// opinions returns the sum of the answers of all ranks.
func opinions(q runtime.Message, ranks, n int) []byte {
	all := make([]byte, 8*n)
	for rank := range ranks {
		sum.Kernel(all, all, opinion(q, rank, n))
	}
	return all
}

// census records the questions and results that come to a rank, and the first that is wrong.
type census struct {
	mu      sync.Mutex
	asked   []uint64 // by origin: questions
	learnt  []uint64 // by origin: results
	problem error
}

func (s *census) wrong(format string, args ...any) {
	if s.problem == nil {
		s.problem = fmt.Errorf(format, args...)
	}
}

// lengthOf returns how many numbers answers to a question have.
func lengthOf(q runtime.Message) int { return int(q.Seq*97) % 3000 }

// answers has a rank answer all questions and learn all results.
func answers(c *runtime.Comm) (*census, error) {
	s := &census{asked: make([]uint64, c.Size()), learnt: make([]uint64, c.Size())}
	return s, c.Answers(runtime.Answering{
		Fold: sum,
		Answer: func(q runtime.Message) []byte {
			s.mu.Lock()
			defer s.mu.Unlock()
			if q.Seq != s.asked[q.Origin] || !bytes.Equal(q.Data, letter(q.Origin, q.Seq)) {
				s.wrong("rank %d gets question %d of rank %d in the place of %d, with %d bytes", c.Rank(), q.Seq, q.Origin, s.asked[q.Origin], len(q.Data))
			}
			s.asked[q.Origin]++
			return opinion(q, c.Rank(), lengthOf(q))
		},
		Learn: func(q runtime.Message, result []byte, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil || q.Seq != s.learnt[q.Origin] || !bytes.Equal(result, opinions(q, c.Size(), lengthOf(q))) {
				s.wrong("rank %d learns result %d of rank %d in the place of %d, %d bytes: %w", c.Rank(), q.Seq, q.Origin, s.learnt[q.Origin], len(result), err)
			}
			s.learnt[q.Origin]++
		},
	})
}

// ends waits until the rank has learnt the results of each questions from as many origins.
func (s *census) ends(ctx context.Context, each uint64, origins int) error {
	for {
		s.mu.Lock()
		problem, whole := s.problem, 0
		for _, n := range s.learnt {
			if n == each {
				whole++
			}
		}
		s.mu.Unlock()
		if problem != nil || whole == origins {
			return problem
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d of %d origins: %w", whole, origins, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// ask asks questions one after the other, and checks the answers.
func ask(ctx context.Context, c *runtime.Comm, questions int) error {
	for i := range questions {
		q := runtime.Message{Origin: c.Rank(), Seq: uint64(i)}
		got, err := c.Ask(ctx, letter(q.Origin, q.Seq))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, opinions(q, c.Size(), lengthOf(q))) {
			return fmt.Errorf("rank %d: wrong answer to question %d", c.Rank(), i)
		}
	}
	return nil
}

// testAsk: all ranks ask at a time, beside messages and collective operations. All get the answers
// of all ranks.
func testAsk(t *testing.T, with network) {
	for _, a := range schedule.Algorithms() {
		if a.Row().Question == 0 {
			continue
		}
		for _, ranks := range []int{1, 2, 6} {
			with.run(t, fmt.Sprintf("%s/ranks=%d", a.Name, ranks), func(t *testing.T) {
				const questions = 20
				comms := join(t, with, ranks, runtime.Config{
					PublishWindow: 4, Chunk: 2000, Algorithms: runtime.Algorithms{schedule.Anyreduce: {Name: a.Name}},
				})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					census, err := answers(c)
					if err == nil {
						err = c.Barrier(ctx)
					}
					if err != nil {
						return err
					}
					err = together(ctx,
						func(ctx context.Context) error { return ask(ctx, c, questions) },
						func(ctx context.Context) error { return publish(ctx, c, 10) },
						func(ctx context.Context) error { return receive(ctx, c, 10*(c.Size()-1)) },
						func(ctx context.Context) error { return bcastsAndBarriers(ctx, c, 10) })
					if err != nil {
						return err
					}
					if err := census.ends(ctx, questions, ranks); err != nil {
						return err
					}
					if n := c.Totals(); n.Asked != questions || n.Answered != uint64(questions*ranks) {
						return fmt.Errorf("rank %d has asked %d and answered %d questions", c.Rank(), n.Asked, n.Answered)
					}
					return c.Barrier(ctx)
				})
			})
		}
	}
}

// testAskDeath: a rank dies while it answers. The asker and all other survivors learn this, and
// which ranks have answered.
func testAskDeath(t *testing.T, with network) {
	const ranks, dead = 6, 4
	comms := join(t, mortals(with, dead), ranks, runtime.Config{Stall: 20 * time.Millisecond})
	answering, learnt := make(chan bool), make([]chan error, ranks)
	for rank, c := range comms {
		learnt[rank] = make(chan error, 1)
		require.NoError(t, c.Answers(runtime.Answering{
			Fold: sum,
			Answer: func(q runtime.Message) []byte {
				if rank == dead {
					close(answering)
					<-t.Context().Done()
				}
				return opinion(q, rank, 1)
			},
			Learn: func(_ runtime.Message, _ []byte, err error) { learnt[rank] <- err },
		}))
	}
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	asked := make(chan error, 1)
	go func() {
		_, err := comms[0].Ask(t.Context(), []byte("who is there?"))
		asked <- err
	}()
	<-answering
	for rank, c := range comms {
		for rank != dead && c.Totals().Answered == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	require.NoError(t, comms[dead].Close())
	living := append(slices.Clone(comms[:dead]), comms[dead+1:]...)
	each(t, living, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }) // somebody looks
	for rank := range comms {
		if rank == dead {
			continue
		}
		errs := []error{<-learnt[rank]}
		if rank == 0 {
			errs = append(errs, <-asked)
		}
		for _, err := range errs {
			requireNames(t, err, runtime.ErrPeerLost, dead)
			var of *runtime.AskError
			require.ErrorAs(t, err, &of)
			require.Zero(t, of.Origin)
			require.Equal(t, []int{0, 1, 2, 3, 5}, of.Answered, "rank %d: %v", rank, err)
		}
	}
}

// testAskRefused: a rank that cannot answer is named by the error of the question, and the
// communicator stays intact.
func testAskRefused(t *testing.T, with network) {
	const ranks, odd = 4, 2
	bytesAnswer := func(n int) func(rank int) *runtime.Answering {
		return func(rank int) *runtime.Answering {
			answer := make([]byte, 8)
			if rank == odd {
				answer = make([]byte, 8*n)
			}
			return &runtime.Answering{Fold: sum, Answer: func(runtime.Message) []byte { return answer }}
		}
	}
	for _, test := range []struct {
		name string
		how  func(rank int) *runtime.Answering
		want string
	}{
		{"no handler", func(rank int) *runtime.Answering {
			if rank == odd {
				return nil
			}
			return bytesAnswer(1)(rank)
		}, "it has no handler for questions"},
		{"another type", func(rank int) *runtime.Answering {
			how := bytesAnswer(1)(rank)
			if rank == odd {
				other := *sum
				other.Name = "sum of float32"
				how.Fold = &other
			}
			return how
		}, "it answers by sum of float32, and rank 0 asks for sum of uint64"},
		{"another length", bytesAnswer(2), "its answer has 2 elements, and that of rank "},
		{"too long", bytesAnswer(200), "its answer has 1600 bytes, at most 1000"},
	} {
		with.run(t, strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{MaxMessage: 1000})
			for rank, c := range comms {
				if how := test.how(rank); how != nil {
					require.NoError(t, c.Answers(*how))
				}
			}
			_, err := comms[0].Ask(t.Context(), []byte("what?"))
			requireNames(t, err, runtime.ErrUnanswered, odd)
			require.ErrorContains(t, err, test.want)
			var of *runtime.AskError
			require.ErrorAs(t, err, &of)
			require.NotContains(t, of.Answered, odd)
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
		})
	}
}

// testAskInput: questions that cannot be asked are refused, and the communicator stays intact.
func testAskInput(t *testing.T, with network) {
	comms := join(t, with, 2, runtime.Config{MaxMessage: 100})
	c := comms[0]
	_, err := c.Ask(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "this rank has no handler for questions")
	require.ErrorIs(t, c.Answers(runtime.Answering{Fold: sum}), runtime.ErrInput)
	require.ErrorIs(t, c.Answers(runtime.Answering{Answer: func(runtime.Message) []byte { return nil }}), runtime.ErrInput)
	for _, c := range comms {
		require.NoError(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte { return opinion(q, 0, 1) }}))
	}
	require.ErrorContains(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(runtime.Message) []byte { return nil }}), "has a handler")
	_, err = c.Ask(t.Context(), make([]byte, 101))
	require.ErrorIs(t, err, runtime.ErrTooLarge)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Ask(ended, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, c.Totals().Asked)
	_, err = c.Ask(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = c.Ask(t.Context(), nil)
	require.ErrorIs(t, err, runtime.ErrClosed)
	require.ErrorIs(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(runtime.Message) []byte { return nil }}), runtime.ErrClosed)
}

// testSlowAnswer: a rank that takes long to answer does not keep questions and messages from the
// ranks behind it. The asker may give up; all others learn the result nevertheless.
func testSlowAnswer(t *testing.T, with network) {
	const ranks, slow, behind = 5, 2, 3 // in the trees of rank 0
	comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{
		"anycast": {Name: "anycast/skip-ring"}, "anyreduce": {Name: "anyreduce/skip-ring"},
	}})
	free, asked := make(chan bool), make(chan bool, 1)
	learnt := make(chan int, ranks)
	for rank, c := range comms {
		require.NoError(t, c.Answers(runtime.Answering{
			Fold: sum,
			Answer: func(q runtime.Message) []byte {
				switch rank {
				case slow:
					<-free
				case behind:
					asked <- true
				}
				return opinion(q, rank, 3)
			},
			Learn: func(q runtime.Message, result []byte, err error) {
				if err == nil && bytes.Equal(result, opinions(q, ranks, 3)) {
					learnt <- rank
				}
			},
		}))
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := comms[0].Ask(ctx, []byte("well?"))
		gaveUp <- err
	}()
	<-asked
	require.NoError(t, comms[0].Publish(t.Context(), []byte("meanwhile")))
	m, err := comms[behind].Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "meanwhile", string(m.Data))
	cancel()
	err = <-gaveUp
	require.ErrorIs(t, err, context.Canceled)
	var op *runtime.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "ask", op.Op)
	close(free)
	for range ranks {
		<-learnt
	}
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
}

// testAskLeave: if a rank has left, questions have no result, and the error names the rank. The
// communicator stays intact. A rank may leave while it answers.
func testAskLeave(t *testing.T, with network) {
	const ranks = 5
	for leaver := range ranks - 1 {
		with.run(t, fmt.Sprint("leaver=", leaver), func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{})
			answering, closed := make(chan bool), make(chan bool)
			for rank, c := range comms {
				require.NoError(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte {
					if rank == leaver && q.Seq == 1 {
						close(answering)
						<-closed
					}
					return opinion(q, rank, 1)
				}}))
			}
			asker := comms[ranks-1]
			_, err := asker.Ask(t.Context(), []byte("here?"))
			require.NoError(t, err)
			go func() {
				<-answering
				_ = comms[leaver].Close() // the test closes it again and looks
				close(closed)
			}()
			for range 2 {
				_, err = asker.Ask(t.Context(), []byte("still here?"))
				requireNames(t, err, runtime.ErrPeerLeft, leaver)
				require.ErrorIs(t, err, runtime.ErrUnanswered)
				require.NoError(t, asker.Err())
			}
		})
	}
}

// testAskClose: Close ends the calls of Ask.
func testAskClose(t *testing.T, with network) {
	comms := join(t, with, 2, runtime.Config{})
	free, asked := make(chan bool), make(chan error, 1)
	answering := make(chan bool, 2)
	for _, c := range comms {
		require.NoError(t, c.Answers(runtime.Answering{Fold: sum, Answer: func(q runtime.Message) []byte {
			answering <- true
			<-free
			return opinion(q, 0, 1)
		}}))
	}
	go func() {
		_, err := comms[0].Ask(t.Context(), nil)
		asked <- err
	}()
	<-answering
	<-answering
	require.NoError(t, comms[0].Close())
	require.ErrorIs(t, <-asked, runtime.ErrClosed)
	close(free)
	require.NoError(t, comms[1].Err())
}
