package meet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/internal/transport/seal"
)

// inBubble runs f in virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// saysHello returns the first message of a rank without a key.
func saysHello(h *hello) []byte { return appendHello(contact.AppendOpening(nil, seal.Plain), h) }

// Processes that are no ranks of this job and version are turned away and counted; those that speak
// the protocol get the reason. The ranks meet.
func TestStrangersAreTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, t.Context(), 3)
		h.come(t.Context(), 1, nil)
		versions := `^a rank speaks version %d on the wire \(%s\), but the process that it connects to speaks version %d \(meet\.test .+\)$`
		require.Regexp(t, fmt.Sprintf(versions, 16, "an older program", Version), h.stranger([]byte{0x5C, 0xED, 0, 1, 0, 16}))
		newer := contact.AppendBytes([]byte{0x5C, 0xED, 0, 1, 0, 99}, "solver v9")
		require.Regexp(t, fmt.Sprintf(versions, 99, "solver v9", Version), h.stranger(newer))
		require.Empty(t, h.stranger([]byte("GET / ")))
		require.Empty(t, h.stranger([]byte{0x5C}))
		other := `rank 2 is of job "day", rank 0 of job "night"`
		require.Equal(t, other, h.stranger(saysHello(&hello{rank: 2, size: 3, job: "day"})))
		require.Equal(t, other, h.stranger(saysHello(&hello{rank: 2, size: 7, job: "day"})))
		h.come(t.Context(), 2, nil)
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
		require.EqualValues(t, 6, h.tabs[0].Refused)
		h.met()
	})
}

// Silent connections do not delay ranks: the oldest ones make room.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const extra = 100
		h := open(t, t.Context(), 3)
		var silent []net.Conn
		for range 3 + spareStrangers + extra {
			silent = append(silent, h.connect())
		}
		begun := time.Now()
		h.come(t.Context(), 1, nil)
		h.come(t.Context(), 2, nil)
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
		require.Less(t, time.Since(begun), 20*lan)
		require.GreaterOrEqual(t, h.tabs[0].Refused, uint64(extra))
		for _, conn := range silent {
			_, err := conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
		}
	})
}

// A slow stranger has limited time.
func TestSlowStrangersHaveABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, t.Context(), 2)
		conn := h.connect()
		begun := time.Now()
		says := saysHello(&hello{rank: 1, size: 2, job: "night", blob: make([]byte, MaxBlob)})
		var err error
		for i := 0; err == nil; i++ {
			_, err = conn.Write(says[i : i+1])
			time.Sleep(time.Second / 2)
		}
		require.LessOrEqual(t, time.Since(begun), contact.HelloTime+time.Second)
		h.come(t.Context(), 1, nil)
		h.wg.Wait()
		require.NoError(t, errors.Join(h.errs...))
	})
}

// When the time is over, at whichever rank first, every rank that is there learns which ranks are
// missing.
func TestAllNameTheAbsent(t *testing.T) {
	late := errors.New("the time is over")
	for impatient, want := range map[int]string{
		0: "ranks 3 and 5-6 have not come: the time is over",
		2: "ranks 3 and 5-6 have not come: rank 2 waits no longer: the time is over",
	} {
		t.Run(fmt.Sprintf("rank %d", impatient), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				of := map[int]context.Context{impatient: ctx}
				at := func(rank int) context.Context {
					if of[rank] == nil {
						return t.Context()
					}
					return of[rank]
				}
				h := open(t, at(0), 7)
				for _, rank := range []int{1, 2, 4} {
					h.come(at(rank), rank, nil)
				}
				settle()
				cancel(late)
				h.wg.Wait()
				for _, rank := range []int{0, 1, 2, 4} {
					require.ErrorContains(t, h.errs[rank], want, "rank %d", rank)
				}
				require.ErrorIs(t, h.errs[impatient], late)
			})
		})
	}
}

// If all wait equally long, all name the absent ranks, too.
func TestAllNameTheAbsentAtOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := open(t, ctx, 4)
		h.come(ctx, 1, nil)
		h.come(ctx, 3, nil)
		h.wg.Wait()
		for _, rank := range []int{0, 1, 3} {
			require.ErrorContains(t, h.errs[rank], "rank 2 has not come")
			require.ErrorIs(t, h.errs[rank], context.DeadlineExceeded)
		}
	})
}

// TestMisfitsAreNamedEverywhere checks that a rank with another size or transport is an error at
// all ranks. The error names the rank and both values.
func TestMisfitsAreNamedEverywhere(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Config)
		want string
	}{
		"more": {func(c *Config) { c.Size = 9 }, "was told that there are 9 ranks, rank 0 that there are 4"},
		"less": {func(c *Config) { c.Size = 3 }, "was told that there are 3 ranks, rank 0 that there are 4"},
		"transport": {func(c *Config) { c.Transport = "hybrid" },
			"uses the transport hybrid, rank 0 the transport tcp: all ranks need the same (see SCHEDGEN_TRANSPORT and SCHEDGEN_INTERFACE)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, 4)
				h.edit = overTCP
				h.come(t.Context(), 0, nil)
				h.come(t.Context(), 1, nil)
				settle()
				h.come(t.Context(), 2, c.edit)
				settle()
				h.come(t.Context(), 3, nil) // comes after the failure
				h.wg.Wait()
				for rank, err := range h.errs {
					require.ErrorContains(t, err, "rank 2 at 10.0.0.2:40001 "+c.want, "rank %d", rank)
				}
			})
		})
	}
}

// overTCP gives a rank the transport tcp.
func overTCP(c *Config) { c.Transport = "tcp" }

// A rank with another transport is named at all.
func TestAnotherTransport(t *testing.T) {
	inHall(t, 20, func(t *testing.T, h *hall) {
		h.edit = overTCP
		h.all(t.Context(), 13, 17) // 13 never comes
		settle()
		h.come(t.Context(), 17, func(c *Config) { c.Transport = "hybrid with multicast" })
		h.wg.Wait()
		for rank, err := range h.errs {
			if rank != 13 {
				require.ErrorContains(t, err, "rank 17 at 10.0.0.17:4000", "rank %d", rank)
				require.ErrorContains(t, err, " uses the transport hybrid with multicast, rank 0 the transport tcp: ", "rank %d", rank)
			}
		}
	})
}

// A dead rank may come again; if the time is over before, it is named.
func TestDeadRankIsNamed(t *testing.T) {
	inHall(t, 20, func(t *testing.T, h *hall) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h.all(ctx, 3)
		settle()
		h.kill(17, false)
		h.wg.Wait()
		for rank, err := range h.errs {
			if rank != 3 && rank != 17 {
				require.ErrorContains(t, err, "rank 3 has not come; rank 17 has gone before all had arrived (it hung up: EOF) and has not come again", "rank %d", rank)
			}
		}
	})
}

// picky hangs up on the first connections.
type picky struct {
	net.Listener
	left int
}

func (p *picky) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	for ; err == nil && p.left > 0; p.left-- {
		conn.Close()
		conn, err = p.Listener.Accept()
	}
	return conn, err
}

// A rank that had to make room for others comes again.
func TestRankComesAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var errs [2]error
	var wg sync.WaitGroup
	for rank, cfg := range []Config{
		{Size: 2, Listener: &picky{l, 3}},
		{Size: 2, Rank: 1, Coordinator: l.Addr().String()},
	} {
		wg.Go(func() {
			_, data, err := Meet(ctx, cfg)
			if err == nil {
				err = data.Close()
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs[:]...))
}

// Ranks wait for a coordinator that has gone until the time is over, and then name it.
func TestCoordinatorThatGoes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		h := open(t, t.Context(), 3)
		h.come(ctx, 1, nil)
		settle()
		h.kill(0, false)
		h.wg.Wait()
		require.ErrorContains(t, h.errs[1], "rank 0 has not come: reach the coordinator at 10.0.0.0:7777: ")
		require.ErrorIs(t, h.errs[1], context.DeadlineExceeded)
	})
}

func TestNamesAreBounded(t *testing.T) {
	_, _, err := Meet(t.Context(), Config{Size: 1, Job: string(make([]byte, MaxJob+1))})
	require.ErrorContains(t, err, "the job's name has 257 bytes")
	_, _, err = Meet(t.Context(), Config{Size: 1, Transport: string(make([]byte, MaxTransport+1))})
	require.ErrorContains(t, err, "the transport's name has 65 bytes, at most 64 are allowed")
}
