package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// checkGo refuses what no engine executes: slots and ranks out of range, and
// repairs that may still be wanted when the operation is done.
func checkGo(s *ir.Schedule) error {
	for r := range s.Programs {
		p := &s.Programs[r]
		for i := range p.Rules {
			rule := &p.Rules[i]
			if err := checkGoRule(s, p, rule); err != nil {
				return fmt.Errorf("rank %d, rule %d: %w", r, i, err)
			}
		}
		if err := checkGoSlots(s, p, p.Done); err != nil {
			return fmt.Errorf("rank %d, done: %w", r, err)
		}
	}
	return nil
}

func checkGoRule(s *ir.Schedule, p *ir.Program, rule *ir.Rule) error {
	if err := checkGoSlots(s, p, rule.When); err != nil {
		return err
	}
	if rule.IsRepair() && !slices.Contains(p.Done, rule.Unless) {
		return fmt.Errorf("done does not wait for %v, which ends the repair", rule.Unless)
	}
	for _, a := range rule.Do {
		chunk := a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < s.Chunks
		put := a.Op == ir.Put && a.To >= 0 && int(a.To) < s.Ranks && (chunk || a.Slot.Kind() == ir.KindSignal)
		if !put && !(a.Op == ir.Mcast && chunk) {
			return fmt.Errorf("action %v %v @%d out of range", a.Op, a.Slot, a.To)
		}
	}
	return nil
}

func checkGoSlots(s *ir.Schedule, p *ir.Program, list []ir.Slot) error {
	for _, slot := range list {
		if b := bit(s, slot); b < 0 || b > s.Chunks+p.Signals {
			return fmt.Errorf("slot %v out of range", slot)
		}
	}
	return nil
}

// bit numbers the slots of a rank as the engines do: enter, chunks, signals; -1
// for what is none.
func bit(s *ir.Schedule, slot ir.Slot) int {
	switch {
	case slot.Kind() == ir.KindEnter:
		return 0
	case slot.Kind() == ir.KindChunk && slot.Index() < s.Chunks:
		return 1 + slot.Index()
	case slot.Kind() == ir.KindSignal:
		return 1 + s.Chunks + slot.Index()
	}
	return -1
}
