package stream

import (
	"net"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/wire"
)

// BenchmarkAmongStrangers measures a round trip while strangers connect as fast as they can and send
// nonsense. It uses the processor time of the thread that drives both ends, since the strangers use
// the machine, too.
func BenchmarkAmongStrangers(b *testing.B) {
	for name, strangers := range map[string]int{"nobody": 0, "strangers": 4} {
		b.Run(name, func(b *testing.B) {
			one, other := pair(b)
			stop := connectStrangers(b, one, strangers)
			defer stop()
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			f := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}}
			ends := [2]*Transport{one, other}
			sinks := [2]*log{{}, {}}
			begun := threadTime(b)
			for b.Loop() {
				for to := range 2 {
					want := sinks[to].frames + 1
					ends[1-to].Put(to, f)
					for sinks[to].frames < want {
						ends[0].Poll(sinks[0])
						ends[1].Poll(sinks[1])
					}
				}
			}
			b.ReportMetric(float64(threadTime(b)-begun)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(one.Stats().Rejected), "rejected")
		})
	}
}

// connectStrangers starts goroutines that connect to tr, until the returned function is called.
func connectStrangers(b *testing.B, tr *Transport, strangers int) (stop func()) {
	var wg sync.WaitGroup
	var over atomic.Bool
	for range strangers {
		wg.Go(func() {
			for !over.Load() {
				conn, err := net.DialTimeout("tcp", tr.peers[tr.rank].addr, time.Second)
				if err != nil {
					continue // the system's queue is full, or there are no ports left
				}
				_, _ = conn.Write(make([]byte, greetingLen)) // it may have been turned away by now
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}
		})
	}
	return func() {
		over.Store(true)
		wg.Wait()
	}
}

func threadTime(b *testing.B) time.Duration {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
