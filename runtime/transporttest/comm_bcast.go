package transporttest

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// content returns the n bytes of operation i, which all ranks can compute.
func content(i uint64, n int) []byte {
	words := rand.NewPCG(i, 0)
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, words.Uint64())
	}
	return b[:n:n]
}

// ones is a page whose bits are all set.
var ones = bytes.Repeat([]byte{0xff}, 1<<12)

// bcast broadcasts content i and compares every byte at every rank. buf first gets bytes that
// differ from the message.
func bcast(ctx context.Context, c *runtime.Comm, i uint64, buf []byte, root int) error {
	want := content(i, len(buf))
	if c.Rank() == root {
		copy(buf, want)
	} else { // no byte is right before it comes
		for at := 0; at < len(buf); {
			at += subtle.XORBytes(buf[at:], want[at:], ones)
		}
	}
	if err := c.Bcast(ctx, buf, root); err != nil {
		return err
	}
	if !bytes.Equal(buf, want) {
		return fmt.Errorf("rank %d: wrong bytes in broadcast %d of %d bytes from rank %d", c.Rank(), i, len(buf), root)
	}
	return nil
}

func broadcasts(yield func(name string) bool) {
	for _, a := range schedule.AlgorithmsOf(schedule.Bcast) {
		if !yield(a.Name) {
			return
		}
	}
}

var sizes = []int{0, 1, 7, 1000, 4099, 20000, 100000}

func testBcast(t *testing.T, with Make, numbers []int) {
	for name := range broadcasts {
		for _, ranks := range numbers {
			for _, hosts := range []int{0, (ranks + 1) / 2} {
				t.Run(fmt.Sprintf("%s/ranks=%d,hosts=%d", name, ranks, hosts), func(t *testing.T) {
					comms := join(t, with, ranks, runtime.Config{
						Algorithms: runtime.Algorithms{"bcast": {Name: name, Params: schedule.Params{Hosts: hosts}}},
						Chunk:      3000, Repair: 2 * time.Millisecond,
					})
					all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return bcastSizes(ctx, c) })
				})
			}
		}
	}
}

// bcastSizes broadcasts every size from every root, without anything between the operations.
func bcastSizes(ctx context.Context, c *runtime.Comm) error {
	buf := buffer(sizes[len(sizes)-1])
	for i, n := range sizes {
		for root := range c.Size() {
			if err := bcast(ctx, c, uint64(i*c.Size()+root), buf[:n], root); err != nil {
				return err
			}
		}
	}
	return nil
}

// testBackToBack makes one rank after the other come late, held by a rank that is far ahead, while
// the root continues. Nothing may be overwritten.
func testBackToBack(t *testing.T, with Make) {
	const ranks, rounds = 5, 200
	for name := range broadcasts {
		t.Run(name, func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Chunk: 400, Repair: 2 * time.Millisecond})
			random := rand.New(rand.NewPCG(1, 2))
			busy := [ranks]int{}
			for r := range busy {
				busy[r] = random.IntN(4) * 20000
			}
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				buf := [1500]byte{}
				for i := range uint64(rounds) {
					content(i, busy[(c.Rank()+int(i/20))%ranks]) // work: this rank is late
					if err := bcast(ctx, c, i, buf[:i*7%1500], int(i/50)%ranks); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// testHeld: a root that is far ahead is held back. Its messages wait in buffers of fixed size, and
// arrive complete when the others take them.
func testHeld(t *testing.T, with Make) {
	const n, rounds = 256 << 10, 120
	for _, name := range []string{"bcast/chain", "bcast/mcast-chain"} {
		t.Run(name, func(t *testing.T) {
			comms := join(t, with, 2, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}})
			enter := signal()
			go func() {
				defer close(enter)
				if count := stalledAt(comms[0]); count >= rounds {
					t.Errorf("the root completed all %d broadcasts while nobody took them", count)
				}
			}()
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				if c.Rank() == 1 {
					<-enter
				}
				buf := buffer(n)
				for i := range uint64(rounds) {
					if err := bcast(ctx, c, i, buf, 0); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// stalledAt waits until c completes no more operations, and returns how many it has completed.
func stalledAt(c *runtime.Comm) uint64 {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	count, same := uint64(0), 0
	for range tick.C {
		now := c.Totals().Operations
		if now != count {
			count, same = now, 0
		} else if same++; same == 10 {
			break
		}
	}
	return count
}

// testLarge broadcasts a message that is much larger than any buffer on the way. With
// SCHEDGEN_HEAVY=1 the message has 1 GiB; a machine needs 6 GiB and half a minute for it.
func testLarge(t *testing.T, with Make) {
	n := heavy.Or(24<<20, 1<<30) + 13
	comms := join(t, with, 3, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		return bcast(ctx, c, 1, buffer(n), 1)
	})
}

func testDelay(t *testing.T, with Make) {
	for _, policy := range []runtime.DelayPolicy{runtime.DelayNone, runtime.DelayFixed, runtime.DelayAdaptive, runtime.DelayRandomPeer} {
		for _, name := range []string{"bcast/mcast-chain", "bcast/mcast-acktree"} {
			t.Run(fmt.Sprintf("%v/%s", policy, name), func(t *testing.T) {
				comms := join(t, with, 5, runtime.Config{
					Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Delay: policy, RootDelay: 50 * time.Microsecond, Chunk: 500, Repair: 2 * time.Millisecond,
				})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					buf := [2000]byte{}
					for i := range uint64(100) {
						if err := bcast(ctx, c, i, buf[:], int(i)%c.Size()); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}
