package simnet

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
)

// check returns an error if the scenario cannot be run.
func (s *Scenario) check() error {
	switch {
	case s.Ranks < 1 || s.Ranks > maxRanks:
		return fmt.Errorf("%w: %d ranks, want 1 … %d", ErrScenario, s.Ranks, maxRanks)
	case s.Hosts < 0 || s.Hosts > s.Ranks:
		return fmt.Errorf("%w: %d hosts, want 0 … %d, the number of ranks", ErrScenario, s.Hosts, s.Ranks)
	case s.Net.Cores > maxRanks:
		return fmt.Errorf("%w: net.cores is %d, want 0 … %d", ErrScenario, s.Net.Cores, maxRanks)
	case s.Open < 0 || s.Open > maxOpen:
		return fmt.Errorf("%w: %d requests open, want 0 … %d", ErrScenario, s.Open, maxOpen)
	case s.Comm.Delay > core.DelayRandomPeer:
		return fmt.Errorf("%w: comm: unknown delay: %v", ErrScenario, s.Comm.Delay)
	case s.Limit < 0 || s.Calm < 0:
		return fmt.Errorf("%w: calm and limit must not be negative", ErrScenario)
	}
	if err := s.checkNumbers(); err != nil {
		return err
	}
	for i := range s.Script {
		if err := s.checkOp(&s.Script[i]); err != nil {
			return fmt.Errorf("%w: step %d: %w", ErrScenario, i, err)
		}
	}
	for i := range s.Faults {
		if err := s.checkFault(&s.Faults[i]); err != nil {
			return fmt.Errorf("%w: fault %d: %w", ErrScenario, i, err)
		}
	}
	return nil
}

// checkNumbers returns an error for a negative or excessive number of Net or Comm.
func (s *Scenario) checkNumbers() error {
	n, c := &s.Net, &s.Comm
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"net.up.rate", n.Up.Rate}, {"net.up.queue", int64(n.Up.Queue)}, {"net.up.delay", int64(n.Up.Delay)},
		{"net.down.rate", n.Down.Rate}, {"net.down.queue", int64(n.Down.Queue)}, {"net.down.delay", int64(n.Down.Delay)},
		{"net.loop", int64(n.Loop)}, {"net.datagram", int64(n.Datagram)}, {"net.room", int64(n.Room)},
		{"net.send_room", int64(n.SendRoom)}, {"net.segment", int64(n.Segment)}, {"net.flight", int64(n.Flight)},
		{"net.buffer", int64(n.Buffer)}, {"net.resend", int64(n.Resend)}, {"net.give_up", int64(n.GiveUp)}, {"net.cost", int64(n.Cost)},
		{"net.first", int64(n.First)}, {"net.confirm", int64(n.Confirm)}, {"net.turn", int64(n.Turn)}, {"net.cores", int64(n.Cores)},
		{"net.up.burst", int64(n.Up.Burst)}, {"net.down.burst", int64(n.Down.Burst)},
		{"comm.root_delay", int64(c.RootDelay)}, {"comm.chunk", int64(c.Chunk)}, {"comm.repair", int64(c.Repair)},
		{"comm.stall", int64(c.Stall)}, {"comm.silence", int64(c.Silence)}, {"comm.retain", int64(c.Retain)}, {"comm.publish_window", int64(c.PublishWindow)},
		{"comm.publish_bytes", int64(c.PublishBytes)}, {"comm.max_message", int64(c.MaxMessage)}, {"comm.idle", int64(c.Idle)},
	} {
		if f.v < 0 || f.v > 1<<50 {
			return fmt.Errorf("%w: %s is %d, want 0 … 2^50", ErrScenario, f.name, f.v)
		}
	}
	return nil
}

func (s *Scenario) checkOp(o *Op) error {
	if o.Bytes < 0 || o.Bytes > maxBytes || o.Count < 0 || o.Time < 0 {
		return fmt.Errorf("%s: bytes, count or time out of range", o.Kind)
	}
	switch {
	case o.isCollective():
		if o.Root < 0 || o.Root >= s.Ranks {
			return fmt.Errorf("%s: root %d outside 0 … %d", o.Kind, o.Root, s.Ranks-1)
		}
		if row := o.row(); row.Blocks != nil && o.Bytes > maxBytes/row.Blocks(s.Ranks) {
			return fmt.Errorf("%s: %d blocks of %d bytes, at most %d in all", o.Kind, row.Blocks(s.Ranks), o.Bytes, maxBytes)
		}
		if row := o.row(); row.Inputs != nil && o.Counted {
			return fmt.Errorf("%s: counted, but it folds", o.Kind)
		}
		_, err := o.spec(s)
		return err
	case o.Counted:
		return fmt.Errorf("%s: counted, but it is no collective", o.Kind)
	}
	switch o.Kind {
	case OpPublish, OpAsk:
		if o.Root < -1 || o.Root >= s.Ranks {
			return fmt.Errorf("%s: root %d outside -1 … %d", o.Kind, o.Root, s.Ranks-1)
		}
		return nil
	case OpTake, OpFlush, OpLearn, OpCompute, OpWait, OpAgree:
		return nil
	}
	return fmt.Errorf("unknown step %q", o.Kind)
}

func (s *Scenario) checkFault(f *Fault) error {
	if f.Rank < 0 || f.Rank >= s.Ranks || f.Host < -1 || f.Host >= s.Ranks || f.From < 0 || f.Until < 0 || f.Amount < 0 {
		return fmt.Errorf("%s: rank, host or time out of range", f.Kind)
	}
	switch f.Kind {
	case FaultLoss, FaultBurst, FaultReorder, FaultDuplicate, FaultCorrupt:
		return f.checkPackets()
	case FaultSlow, FaultPartition, FaultPause, FaultLate, FaultCrash, FaultSilent, FaultMismatch:
		if f.Way != "" || len(f.Chunks) > 0 {
			return fmt.Errorf("%s: it is no fault of packets, so it has no way and no chunks", f.Kind)
		}
		return nil
	}
	return fmt.Errorf("unknown fault %q", f.Kind)
}

// checkPackets returns an error if the fault selects packets that do not exist.
func (f *Fault) checkPackets() error {
	switch f.Way {
	case "", ByMulticast, ByDatagram, ByPut:
	default:
		return fmt.Errorf("%s: unknown way %q, want %s, %s or %s", f.Kind, f.Way, ByMulticast, ByDatagram, ByPut)
	}
	for _, k := range f.Chunks {
		if k < 0 || k > ir.MaxIndex {
			return fmt.Errorf("%s: chunk %d is out of range", f.Kind, k)
		}
	}
	return nil
}
