package transporttest

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// content returns the n bytes of operation i, which all ranks can compute. The caller must not
// change them: short ones are a part of sample.
func content(i uint64, n int) []byte {
	if n > maxSample/2 {
		return random(i, n)
	}
	at := int(mixed(i+1) % (maxSample / 2))
	return sample()[at:][:n:n]
}

const maxSample = 8 << 20

// sample returns bytes in which no two stretches are alike.
var sample = sync.OnceValue(func() []byte { return random(0, maxSample) })

// random returns n bytes: the numbers of SplitMix64 from a start that depends on seed.
func random(seed uint64, n int) []byte {
	b := make([]byte, (n+7)&^7)
	x := mixed(seed + 1)
	for at := 0; at < len(b); at += 8 {
		x += 0x9E3779B97F4A7C15
		binary.LittleEndian.PutUint64(b[at:], mixed(x))
	}
	return b[:n:n]
}

// mixed returns a number of which every bit depends on every bit of x.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
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

var sizes = []int{0, 1, 7, 1000, 4099, 20000, 100000}

func testBcast(t *testing.T, with network) {
	for name := range with.broadcasts {
		for _, ranks := range with.bcast {
			for _, hosts := range first(with.variants, 0, (ranks+1)/2) {
				with.run(t, fmt.Sprintf("%s/ranks=%d,hosts=%d", name, ranks, hosts), func(t *testing.T) {
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
func testBackToBack(t *testing.T, with network) {
	const ranks, rounds = 5, 200
	for name := range with.broadcasts {
		with.run(t, name, func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Chunk: 400, Repair: 2 * time.Millisecond})
			random := rand.New(rand.NewPCG(1, 2))
			late := [ranks]time.Duration{}
			for r := range late {
				late[r] = time.Duration(random.IntN(4)) * 20 * time.Microsecond
			}
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				buf := [1500]byte{}
				for i := range uint64(rounds) {
					time.Sleep(late[(c.Rank()+int(i/20))%ranks]) // its process computes
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
func testHeld(t *testing.T, with network) {
	const rounds = 120
	n := with.buffers(256 << 10)
	for _, name := range []string{"bcast/chain", "bcast/mcast-chain"} {
		with.run(t, name, func(t *testing.T) {
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
func testLarge(t *testing.T, with network) {
	n := heavy.Or(with.buffers(24<<20), 1<<30) + 13
	comms := join(t, with, 3, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		return bcast(ctx, c, 1, buffer(n), 1)
	})
}

func testDelay(t *testing.T, with network) {
	for _, policy := range []runtime.DelayPolicy{runtime.DelayNone, runtime.DelayFixed, runtime.DelayAdaptive, runtime.DelayRandomPeer} {
		for _, name := range []string{"bcast/mcast-chain", "bcast/mcast-acktree"} {
			with.run(t, fmt.Sprintf("%v/%s", policy, name), func(t *testing.T) {
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
