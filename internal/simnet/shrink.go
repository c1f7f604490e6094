package simnet

import "slices"

// Shrink reduces a failing scenario as long as it still fails, in at most trials trials. It tries
// fewer ranks, steps and faults, smaller numbers, and defaults instead of drawn values. It returns
// the smallest scenario that it has found, and the number of trials.
func Shrink(sc *Scenario, fails func(*Scenario) bool, trials int) (*Scenario, int) {
	s := shrinker{best: sc.clone(), fails: fails, left: trials}
	for smaller := true; smaller && s.left > 0; {
		smaller = false
		for _, pass := range []func(*shrinker) bool{
			(*shrinker).steps, (*shrinker).faults, (*shrinker).ranks, (*shrinker).sizes, (*shrinker).defaults,
		} {
			smaller = pass(&s) || smaller
		}
	}
	return s.best, trials - s.left
}

type shrinker struct {
	best  *Scenario
	fails func(*Scenario) bool
	left  int
}

func (sc *Scenario) clone() *Scenario {
	c := *sc
	c.Script, c.Faults = slices.Clone(sc.Script), slices.Clone(sc.Faults)
	return &c
}

// try keeps a change of the best scenario if the changed scenario can be run and still fails.
func (s *shrinker) try(change func(*Scenario)) bool {
	if s.left == 0 {
		return false
	}
	c := s.best.clone()
	change(c)
	if c.check() != nil {
		return false
	}
	if s.left--; !s.fails(c) {
		return false
	}
	s.best = c
	return true
}

// without tries to remove parts of a list: halves first, then ever shorter runs.
func (s *shrinker) without(length func() int, cut func(sc *Scenario, lo, hi int)) (better bool) {
	for n := length() / 2; n > 0; n /= 2 {
		for lo := 0; lo+n <= length(); {
			if s.try(func(sc *Scenario) { cut(sc, lo, lo+n) }) {
				better = true
			} else {
				lo += n
			}
		}
	}
	if length() == 1 {
		better = s.try(func(sc *Scenario) { cut(sc, 0, 1) }) || better
	}
	return better
}

func (s *shrinker) steps() bool {
	return s.without(func() int { return len(s.best.Script) }, func(sc *Scenario, lo, hi int) {
		sc.Script = slices.Delete(sc.Script, lo, hi)
	})
}

func (s *shrinker) faults() bool {
	return s.without(func() int { return len(s.best.Faults) }, func(sc *Scenario, lo, hi int) {
		sc.Faults = slices.Delete(sc.Faults, lo, hi)
	})
}

// ranks tries fewer ranks, the fewest first.
func (s *shrinker) ranks() bool {
	for ranks := 1; ranks < s.best.Ranks; ranks++ {
		if s.try(func(sc *Scenario) { sc.restrict(ranks) }) {
			return true
		}
	}
	return s.best.Hosts > 0 && s.try(func(sc *Scenario) { sc.Hosts = 0 })
}

// restrict keeps only the first ranks of a scenario.
func (sc *Scenario) restrict(ranks int) {
	sc.Ranks, sc.Hosts = ranks, min(sc.Hosts, ranks)
	for i := range sc.Script {
		o := &sc.Script[i]
		o.Root, o.Hosts = min(o.Root, ranks-1), min(o.Hosts, ranks)
	}
	sc.Faults = slices.DeleteFunc(sc.Faults, func(f Fault) bool { return f.Rank >= ranks || f.Host >= ranks })
}

// sizes tries smaller numbers in steps and faults.
func (s *shrinker) sizes() (better bool) {
	for i := range s.best.Script {
		for _, number := range []func(*Op) *int{
			func(o *Op) *int { return &o.Bytes },
			func(o *Op) *int { return &o.Count },
			func(o *Op) *int { return &o.Root },
		} {
			better = lower(s, func(sc *Scenario) *int { return number(&sc.Script[i]) }) || better
		}
		better = lower(s, func(sc *Scenario) *Time { return &sc.Script[i].Time }) || better
	}
	for i := range s.best.Faults {
		for _, time := range []func(*Fault) *Time{
			func(f *Fault) *Time { return &f.From },
			func(f *Fault) *Time { return &f.Until },
			func(f *Fault) *Time { return &f.Amount },
		} {
			better = lower(s, func(sc *Scenario) *Time { return time(&sc.Faults[i]) }) || better
		}
	}
	return better
}

// lower tries 0 for a number, and then ever smaller reductions.
func lower[N int | int64 | Time](s *shrinker, at func(*Scenario) *N) (better bool) {
	if *at(s.best) <= 0 {
		return false
	}
	if s.try(func(sc *Scenario) { *at(sc) = 0 }) {
		return true
	}
	for step := *at(s.best) / 2; step > 0; step /= 2 {
		if s.try(func(sc *Scenario) { *at(sc) -= step }) {
			better = true
		}
	}
	return better
}

// defaults tries default values.
func (s *shrinker) defaults() (better bool) {
	for _, c := range []struct {
		set    func(*Scenario) bool // whether there is anything to set
		change func(*Scenario)
	}{
		{func(sc *Scenario) bool { return sc.Comm != Comm{} }, func(sc *Scenario) { sc.Comm = Comm{} }},
		{func(sc *Scenario) bool { return sc.Comm.Delay != 0 }, func(sc *Scenario) { sc.Comm.Delay, sc.Comm.RootDelay = 0, 0 }},
		{func(sc *Scenario) bool { return sc.Net.Up.Rate != 0 }, func(sc *Scenario) { sc.Net.Up.Rate, sc.Net.Down.Rate = 0, 0 }},
		{func(sc *Scenario) bool { return sc.Net.Up.Queue != 0 }, func(sc *Scenario) { sc.Net.Up.Queue, sc.Net.Down.Queue = 0, 0 }},
		{func(sc *Scenario) bool { return sc.Net.Cost != 0 }, func(sc *Scenario) { sc.Net.Cost = 0 }},
		{func(sc *Scenario) bool { return sc.Net.Room != 0 }, func(sc *Scenario) { sc.Net.Room = 0 }},
		{func(sc *Scenario) bool { return sc.Net.Datagram != 0 }, func(sc *Scenario) { sc.Net.Datagram = 0 }},
		{func(sc *Scenario) bool { return sc.Net.Segment != 0 }, func(sc *Scenario) { sc.Net.Segment = 0 }},
		{func(sc *Scenario) bool { return sc.Net.Flight+sc.Net.Buffer != 0 }, func(sc *Scenario) { sc.Net.Flight, sc.Net.Buffer = 0, 0 }},
		{func(sc *Scenario) bool { return sc.Net.Resend != 0 }, func(sc *Scenario) { sc.Net.Resend = 0 }},
		{func(sc *Scenario) bool { return sc.Net.Multicast }, func(sc *Scenario) { sc.Net.Multicast = false }},
		{func(sc *Scenario) bool { return !sc.Net.Ordered }, func(sc *Scenario) { sc.Net.Ordered = true }},
		{func(sc *Scenario) bool { return sc.Open > 2 }, func(sc *Scenario) { sc.Open = 2 }},
		{func(sc *Scenario) bool { return sc.Open > 0 }, func(sc *Scenario) { sc.Open = 0 }},
		{func(sc *Scenario) bool { return sc.Eager }, func(sc *Scenario) { sc.Eager = false }},
		{func(sc *Scenario) bool { return sc.Close }, func(sc *Scenario) { sc.Close = false }},
	} {
		better = c.set(s.best) && s.try(c.change) || better
	}
	return better
}
