package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// With Config.Learn, a communicator chooses algorithms by the times of its calls, as STAR-MPI does.
// Blocking calls of one collective and one class of lengths are a lesson. Its first calls try a few
// rivals in turn. Every rank counts the calls of a lesson alike, so all ranks run the same rival
// without a message. After the last of these calls, the ranks add up their times by an allreduce,
// and so all choose the same rival. They add up times again now and then. If the sum has changed
// much, they try all rivals again.
//
// The ranks meet before a call that is timed, so its time holds no wait for a late rank. Each rank
// gives the median and the least of its times of a rival, and both sums must be less than those of
// the present choice: so disturbed calls decide nothing. Rivals take turns forwards and backwards,
// so none gains where all calls become faster or slower meanwhile.
//
// With Config.MPI, the program's MPI is one more rival, and the choice until another one is faster.
// The caller then asks before each call whether it is the MPI's turn, and times the calls, because
// only the caller can call the MPI: see Comm.Turn.

const (
	maxRivals = 4
	// A turn of a rival has one call that does not count: it may have to compile the schedule, and
	// follows calls of another rival.
	turnCalls = 3
	fewTurns  = 2 // of each rival: 24 calls with maxRivals
	// If calls are short, more turns follow, and these alone count: they cost little, and short times
	// vary more, most of all when ranks have just begun.
	moreTurns = 6 // 72 calls with maxRivals
	shortCall = core.Time(time.Millisecond)
	// With Config.MPI a trial is at most mpiCalls calls. So only the choice and its fastest rival have
	// more turns.
	mpiCalls = 50

	firstCheck   = 256  // calls after a trial until times are added up
	lastCheck    = 2048 // the same at most, if trials change nothing
	checkedCalls = 4    // the last calls before a check, which are timed
	// With Config.MPI there are so many times as many calls between checks: where the MPI is faster,
	// the timed ones would take longer than all the others.
	rarer = 16
)

// learner is what Config.Learn adds to a communicator. It is an interface so that a program that
// calls only New does not carry it.
type learner interface {
	// operate is Comm.operate.
	operate(ctx context.Context, k kind, mem *core.Buffers, root int, f form) error
	// rival returns the algorithm chosen for calls of form f with blocks of n bytes, or nil if the
	// rules choose it.
	rival(k kind, n int, f form) *rival
	// turn and took are Comm.Turn and Comm.Took.
	turn(ctx context.Context, k kind, n int, f form) (Turn, error)
	took(ctx context.Context, t core.Time) error
	list() []Learned         // what the ranks have learned, in the order of the first calls
	rules() []selection.Rule // the part that other communicators can use
	// write writes rules, and then those of Config, to the file of Config.Learn.
	write(rules []selection.Rule) error
}

// lessons are what a communicator has learned.
type lessons struct {
	c       *Comm
	of      map[class]*lesson
	inOrder []*lesson // by their first calls
	barrier *plan     // see meet; nil: not compiled
	timing  *lesson   // of the call that the caller times; nil: none
}

// class is the calls of a lesson. If blocks have lengths of their own, the longest counts; if not all
// ranks know it, the calls are in no class.
type class struct {
	kind    kind
	length  int // lengths up to 2^length bytes: see bytes
	ordered bool
	exact   bool
}

// classOf returns the class of calls of form f with blocks of n bytes.
func classOf(k kind, n int, f form) class {
	return class{kind: k, length: bits.Len(uint(max(n, 1) - 1)), ordered: f.ordered, exact: f.exact}
}

// bytes returns the lengths in a class. most is the greatest.
func (cl *class) bytes() (lengths selection.Range, most int) {
	most = 1 << min(cl.length, bits.UintSize-2)
	if cl.length > 0 {
		lengths.From = most/2 + 1
	}
	lengths.To = most + 1
	return lengths, most
}

// lesson holds what the ranks have learned about a class of calls.
type lesson struct {
	class
	collective string
	of         selection.Case
	rivals     []rival // a lesson with one is not learned
	own        int     // index of the rival that stands for the rules: 1 if the first is the MPI, else 0
	choice     int     // index of a rival

	calls  uint64 // of the class
	trials uint64 // that have ended
	trying bool
	racing []int         // the rivals that have turns, by index
	turns  int           // of each of them
	step   int           // calls since the turns, or the last check, began
	turn   int           // the rival of the call that Comm.Turn was asked about
	every  int           // calls from one check to the next
	times  [][]core.Time // of the calls that count, by rival
	usual  summed        // the times of the choice
	sums   *plan         // adds up the ranks' times; nil: not compiled
}

// rival is an algorithm that a lesson tries.
type rival struct {
	chosen
	rule *selection.Rule
	took summed // in the last trial; zero: there was none
}

// summed are sums over ranks of their times of a rival, in ns.
type summed struct{ least, median uint64 }

// better reports whether times are at least 5 % less than those of the present choice. On a busy
// machine medians vary more than that, and least times less.
func (s summed) better(present summed) bool {
	less := func(a, b uint64) bool { return a < b && 20*a <= 19*b }
	return less(s.median, present.median) && less(s.least, present.least)
}

// changed reports whether times are above 1.5 times the usual ones, or below them by that factor.
func (s summed) changed(usual summed) bool {
	more := func(a, b summed) bool { return 2*a.median > 3*b.median && 2*a.least > 3*b.least }
	return more(s, usual) || more(usual, s)
}

func newLessons(c *Comm) learner { return &lessons{c: c, of: make(map[class]*lesson)} }

func (ls *lessons) rival(k kind, n int, f form) *rival {
	if f.local() {
		return nil
	}
	if l := ls.of[classOf(k, n, f)]; l != nil && l.choice > l.own {
		return &l.rivals[l.choice]
	}
	return nil
}

func (ls *lessons) operate(ctx context.Context, k kind, mem *core.Buffers, root int, f form) error {
	l := ls.lessonOf(k, mem.Block, f)
	p, err := ls.c.planOf(k, mem, root, &f)
	if err != nil {
		return err
	}
	of, counts := 0, false
	switch {
	case l == nil:
	case ls.c.cfg.MPI:
		of = l.turn
	default:
		before := l.choice
		if of, counts, err = ls.begin(ctx, l); err != nil {
			return err
		}
		if l.choice != before {
			if p, err = ls.c.planOf(k, mem, root, &f); err != nil {
				return err
			}
		}
	}
	if l != nil && l.trying {
		p = ls.rivalPlan(l, of, p, k, mem.Block, root, f)
	}
	ls.c.ran = p
	since := ls.c.drv.now()
	if err := ls.c.run(ctx, p, mem); err != nil || !counts {
		return err
	}
	return ls.end(ctx, l, of, ls.c.drv.now()-since)
}

// begin counts a call, and returns the rival that performs it, and whether its time counts. If so,
// all ranks have called it.
func (ls *lessons) begin(ctx context.Context, l *lesson) (of int, counts bool, err error) {
	if l.due() {
		if err := ls.conclude(ctx, l); err != nil {
			return 0, false, err
		}
	}
	if of, counts = l.next(); counts {
		err = ls.meet(ctx)
	}
	return of, counts, err
}

// end adds the time that a call has taken here since begin. If it has a root, some ranks may return
// long before others, and the time is that until it has ended at all ranks.
func (ls *lessons) end(ctx context.Context, l *lesson, of int, took core.Time) error {
	if ls.c.plans.row(l.kind).Rooted {
		since := ls.c.drv.now()
		if err := ls.meet(ctx); err != nil {
			return err
		}
		took += ls.c.drv.now() - since
	}
	l.times[of] = append(l.times[of], took)
	return nil
}

func (ls *lessons) turn(ctx context.Context, k kind, n int, f form) (Turn, error) {
	l := ls.lessonOf(k, n, f)
	if l == nil {
		return Turn{Calls: 1}, nil
	}
	of, counts, err := ls.begin(ctx, l)
	if err != nil {
		return Turn{}, err
	}
	t := Turn{MPI: of < l.own, Calls: 1, Timed: counts}
	if !l.trying && !counts { // the next calls up to those before a check
		more := l.every - checkedCalls - l.step
		t.Calls += more
		l.step += more
		l.calls += uint64(more)
	}
	if l.turn = of; counts {
		ls.timing = l
	}
	return t, nil
}

func (ls *lessons) took(ctx context.Context, t core.Time) error {
	l := ls.timing
	if l == nil {
		return fmt.Errorf("%w: Took: no call is timed", ErrInput)
	}
	ls.timing = nil
	return ls.end(ctx, l, l.turn, t)
}

// meet waits until all ranks have called meet, by the barrier that the rules choose.
func (ls *lessons) meet(ctx context.Context) error {
	if ls.barrier == nil {
		ch, err := ls.c.chosen(schedule.Barrier, 0, false)
		if err != nil {
			return err
		}
		p, err := ls.c.planBy(&ch, barrier, 0, 0)
		if err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		marked := *p
		marked.Plan = p.Marked("to learn")
		ls.barrier = &marked
	}
	return ls.c.run(ctx, ls.barrier, &core.Buffers{})
}

// lessonOf returns the lesson of a call with blocks of n bytes. It returns nil if nothing is to be
// learned: if Config or Use names the algorithm, if there is only one, or if not all ranks know n.
// All ranks get the same.
func (ls *lessons) lessonOf(k kind, n int, f form) *lesson {
	if f.local() || len(ls.c.used[k]) > 0 {
		return nil
	}
	cl := classOf(k, n, f)
	l := ls.of[cl]
	if l == nil {
		l = ls.newLesson(cl)
		ls.of[cl] = l
		ls.inOrder = append(ls.inOrder, l)
	}
	if len(l.rivals) < 2 {
		return nil
	}
	return l
}

func (ls *lessons) newLesson(cl class) *lesson {
	row := ls.c.plans.row(cl.kind)
	l := &lesson{class: cl, collective: row.Name, every: ls.checkAfter(firstCheck)}
	given := ls.c.cfg.Algorithms[row.Name]
	if given.Name != "" {
		return l
	}
	most := 0
	if row.Blocks != nil {
		_, most = cl.bytes()
	}
	l.of = ls.c.caseOf(row.Name, most)
	l.of.Ordered = cl.ordered
	rules := ls.c.cfg.Rules
	if rules == nil {
		rules = selection.Builtin()
	}
	if ls.c.cfg.MPI && !l.of.Reproducible {
		l.rivals, l.own = []rival{{chosen: chosen{Algorithm: Algorithm{Name: selection.MPI}}}}, 1
	}
	for _, d := range rules.Contenders(l.of, cl.exact, maxRivals) {
		l.rivals = append(l.rivals, rival{chosen: ls.c.by(&d, given), rule: d.Rule})
	}
	l.tryAll()
	return l
}

// checkAfter returns after how many calls a check follows, where it would be n without the MPI.
func (ls *lessons) checkAfter(n int) int {
	if ls.c.cfg.MPI {
		return n * rarer
	}
	return n
}

// tryAll begins a trial of all rivals.
func (l *lesson) tryAll() {
	all := make([]int, len(l.rivals))
	for i := range all {
		all[i] = i
	}
	l.try(all, fewTurns)
}

// try begins a number of turns of some rivals.
func (l *lesson) try(racing []int, turns int) {
	l.trying, l.racing, l.turns, l.step = true, racing, turns, 0
	l.times = make([][]core.Time, len(l.rivals))
}

// settle ends a trial. Checks of the choice follow.
func (l *lesson) settle() {
	l.trying, l.step = false, 0
	l.times = make([][]core.Time, len(l.rivals))
}

// due reports whether the ranks are to add up their times before the next call.
func (l *lesson) due() bool {
	if l.trying {
		return l.step == l.turns*turnCalls*len(l.racing)
	}
	return l.step == l.every
}

// next counts a call, and returns the rival that it runs, and whether its time counts.
func (l *lesson) next() (of int, counts bool) {
	step := l.step
	l.step++
	l.calls++
	if !l.trying {
		return l.choice, step >= l.every-checkedCalls
	}
	round, at := step/turnCalls/len(l.racing), step/turnCalls%len(l.racing)
	if round%2 > 0 {
		at = len(l.racing) - 1 - at
	}
	return l.racing[at], step%turnCalls > 0
}

// rivalPlan returns the plan of a call by a rival. If the rival cannot do the call, it returns usual,
// the plan that the call has otherwise. All ranks get the same.
func (ls *lessons) rivalPlan(l *lesson, of int, usual *plan, k kind, n, root int, f form) *plan {
	if of == l.choice || of <= l.own && l.choice <= l.own {
		return usual
	}
	var p *plan
	var err error
	if of <= l.own {
		var ch chosen
		if ch, err = ls.c.chosen(l.collective, n, f.ordered); err == nil {
			p, err = ls.c.planBy(&ch, k, n, root)
		}
	} else {
		p, err = ls.c.planBy(&l.rivals[of].chosen, k, n, root)
	}
	if err != nil || ls.c.fitsFrames(ls.c.plans.row(k), n, p.Chunks) != nil || f.fold != "" && ls.c.servesFold(k, p, f) != nil {
		return usual
	}
	return p.as(f)
}

// conclude adds up the times of all ranks, and chooses by the sums.
func (ls *lessons) conclude(ctx context.Context, l *lesson) error {
	sums, err := ls.addTimes(ctx, l)
	if err != nil {
		return err
	}
	if !l.trying {
		if sums[l.choice].changed(l.usual) {
			l.tryAll()
		} else {
			l.settle()
		}
		return nil
	}
	for _, i := range l.racing {
		l.rivals[i].took = sums[i]
	}
	if l.turns == fewTurns && ls.areShort(sums) {
		if !ls.c.cfg.MPI {
			l.try(l.racing, moreTurns)
			return nil
		}
		calls := mpiCalls - fewTurns*turnCalls*len(l.rivals)
		l.try([]int{l.choice, l.challenger(sums)}, calls/(2*turnCalls)) // 3 turns or more
		return nil
	}
	before := l.choice
	for _, i := range l.racing {
		if sums[i].better(sums[before]) && sums[i].median < sums[l.choice].median {
			l.choice = i
		}
	}
	l.usual = sums[l.choice]
	l.trials++
	l.settle()
	if l.choice == before && l.trials > 1 {
		l.every = min(2*l.every, ls.checkAfter(lastCheck))
	} else {
		l.every = ls.checkAfter(firstCheck)
	}
	if l.choice != before {
		clear(ls.c.plans.recent) // they are of the choice before
	}
	ls.log(l)
	return nil
}

// challenger returns the rival of the choice with the least sum of medians.
func (l *lesson) challenger(sums []summed) int {
	best := -1
	for i := range sums {
		if i != l.choice && (best < 0 || sums[i].median < sums[best].median) {
			best = i
		}
	}
	return best
}

// areShort reports whether calls take less than shortCall, in the mean over rivals and ranks.
func (ls *lessons) areShort(sums []summed) bool {
	total := uint64(0)
	for _, sum := range sums {
		total += sum.median
	}
	return total < uint64(shortCall)*uint64(len(sums)*ls.c.size)
}

// timesAlgorithm adds up the times of ranks.
const timesAlgorithm = "allreduce/doubling"

// addedTimes folds times.
var addedTimes = Fold{Name: "sum of times", Element: countBytes, Commutes: true, Exact: true, Trusted: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i+countBytes <= len(dst); i += countBytes {
		binary.BigEndian.PutUint64(dst[i:], binary.BigEndian.Uint64(a[i:])+binary.BigEndian.Uint64(b[i:]))
	}
}}

// addTimes returns the sums over all ranks of their times, by rival. It is an operation of the
// communicator. Ranks that have other rivals are a mismatch.
func (ls *lessons) addTimes(ctx context.Context, l *lesson) ([]summed, error) {
	if l.sums == nil {
		p, err := ls.c.plans.compile(planKey{algorithm: Algorithm{Name: timesAlgorithm}, chunks: 1})
		if err != nil {
			return nil, fmt.Errorf("learn: %w", err)
		}
		p.Plan = p.Marked("to learn " + l.words())
		p.Plan.Name = "learn " + l.collective
		l.sums = p
	}
	var own []byte
	for _, times := range l.times {
		least, median := quantiles(times)
		own = binary.BigEndian.AppendUint64(own, uint64(least))
		own = binary.BigEndian.AppendUint64(own, uint64(median))
	}
	all := make([]byte, len(own))
	if err := ls.c.run(ctx, l.sums, &core.Buffers{In: own, Out: all, Block: len(all), Fold: &addedTimes}); err != nil {
		return nil, err
	}
	sums := make([]summed, len(l.rivals))
	for i := range sums {
		of := all[2*countBytes*i:]
		sums[i] = summed{binary.BigEndian.Uint64(of), binary.BigEndian.Uint64(of[countBytes:])}
	}
	return sums, nil
}

// quantiles returns the least time and the lower median, or zeros if there are no times.
func quantiles(times []core.Time) (least, median core.Time) {
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return times[0], times[(len(times)-1)/2]
}

// words names the class and the rivals.
func (l *lesson) words() string {
	var names []string
	for i := range l.rivals {
		names = append(names, l.rivals[i].Name)
	}
	return fmt.Sprintf("%v by %s", &l.of, strings.Join(names, ", "))
}

// log logs the outcome of a trial.
func (ls *lessons) log(l *lesson) {
	if ls.c.cfg.Observe.Log == nil {
		return
	}
	of := ls.describe(l)
	attrs := []slog.Attr{
		slog.String("collective", of.Collective), slog.Int("bytes", of.Bytes), slog.String("algorithm", of.Algorithm),
		slog.String("rules", of.Tried[l.own].Algorithm), slog.Int("less_percent", of.Less()), slog.Any("tried", of.Tried),
	}
	ls.c.logLater(func() { ls.c.log(slog.LevelInfo, "algorithm learned", attrs...) })
}

// Learned is what a communicator has learned about the blocking calls of a collective, for a class
// of lengths. It is the same at all ranks that have made the same calls.
type Learned struct {
	Collective string  `json:"collective"`
	Bytes      int     `json:"bytes"`             // greatest length of a block in the class; the least is half of it, and 1 more
	Ordered    bool    `json:"ordered,omitempty"` // the operation that folds does not commute
	Exact      bool    `json:"exact,omitempty"`   // every order of folding gives the same bits
	Algorithm  string  `json:"algorithm"`         // the choice; selection.MPI: it is left to the MPI
	Trying     bool    `json:"trying,omitempty"`  // a trial has begun and not ended
	Trials     uint64  `json:"trials"`            // trials that have ended
	Calls      uint64  `json:"calls"`             // calls of the class; with Config.MPI, all about which Turn has told
	Tried      []Tried `json:"tried"`             // the MPI with Config.MPI, then the choice of the rules, and its rivals
}

// Tried is an algorithm that a communicator has tried.
type Tried struct {
	Algorithm string        `json:"algorithm"`
	Degree    int           `json:"degree,omitempty"` // 0: the default
	Time      time.Duration `json:"time_ns"`          // in the last trial, of a call: the mean of the ranks' medians; 0: there was no trial
}

// String returns the name, the degree if it is set, and the time.
func (t Tried) String() string {
	if t.Degree > 0 {
		return fmt.Sprintf("%s degree=%d %v", t.Algorithm, t.Degree, t.Time)
	}
	return fmt.Sprintf("%s %v", t.Algorithm, t.Time)
}

// Less returns how much less time the choice takes than the first one of Tried, in percent.
func (l *Learned) Less() int {
	if l.Trials == 0 || l.Tried[0].Time == 0 {
		return 0
	}
	for _, t := range l.Tried {
		if t.Algorithm == l.Algorithm {
			return int(100 - 100*t.Time/l.Tried[0].Time)
		}
	}
	return 0
}

// describe returns what lesson l, which has rivals, has learned.
func (ls *lessons) describe(l *lesson) Learned {
	of := Learned{
		Collective: l.collective, Bytes: l.of.Bytes, Ordered: l.ordered, Exact: l.exact,
		Algorithm: l.rivals[l.choice].Name, Trying: l.trying, Trials: l.trials, Calls: l.calls,
	}
	for i := range l.rivals {
		r := &l.rivals[i]
		of.Tried = append(of.Tried, Tried{r.Name, r.Params.Degree, time.Duration(r.took.median / uint64(ls.c.size))})
	}
	return of
}

func (ls *lessons) list() (all []Learned) {
	for _, l := range ls.inOrder {
		if len(l.rivals) > 1 {
			all = append(all, ls.describe(l))
		}
	}
	return all
}

// rules returns a rule for each class of lengths in which another choice is faster than that of
// the rules. Rules know nothing of operations. If classes differ in them alone, that with the most
// calls counts.
func (ls *lessons) rules() (rules []selection.Rule) {
	most := make(map[class]*lesson)
	for _, l := range ls.inOrder {
		key := class{kind: l.kind, length: l.length}
		if m := most[key]; m == nil || l.calls > m.calls {
			most[key] = l
		}
	}
	for _, l := range ls.inOrder {
		if l.trials > 0 && most[class{kind: l.kind, length: l.length}] == l && ls.differs(l) {
			rules = append(rules, ls.ruleOf(l))
		}
	}
	return rules
}

// differs reports whether the choice of a lesson is not that of the rules, and a file may name it.
func (ls *lessons) differs(l *lesson) bool {
	left := ls.c.leftByRules(l.of)
	if l.choice < l.own {
		return !left
	}
	return (l.choice > l.own || left) && ls.builtIn(&l.rivals[l.choice])
}

// builtIn reports whether a file of rules may name a rival's algorithm.
func (ls *lessons) builtIn(r *rival) bool {
	p := r.Params
	p.Ranks = ls.c.size
	spec, err := ls.c.cfg.source.spec(r.Name, p)
	return err == nil && !spec.Registered()
}

// ruleOf returns a rule for exactly the ranks, the places and the lengths of a lesson.
func (ls *lessons) ruleOf(l *lesson) selection.Rule {
	of := ls.describe(l)
	r := selection.Rule{
		Collective: l.collective, Ranks: selection.Range{From: ls.c.size, To: ls.c.size + 1},
		Place: l.of.Place, Multicast: need(l.of.Multicast), Memory: need(l.of.Memory),
		Algorithm: of.Algorithm, Reason: fmt.Sprintf("learned: takes %d %% less than %s", of.Less(), of.Tried[0].Algorithm),
	}
	if l.choice < l.own {
		r.Reason = "learned: no other algorithm takes 5 % less"
	} else {
		r.Params = l.rivals[l.choice].rule.Params
	}
	if ls.c.plans.row(l.kind).Blocks != nil {
		r.Bytes, _ = l.bytes()
	}
	if l.of.Memory {
		r.Rings = need(l.of.Rings)
	}
	if l.of.Hosts > 0 {
		r.Hosts = selection.Range{From: l.of.Hosts, To: l.of.Hosts + 1}
	}
	return r
}

// need returns the condition that something is there, or that it is not.
func need(there bool) selection.Need {
	if there {
		return selection.With
	}
	return selection.Without
}
