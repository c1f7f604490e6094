package golden

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// browser is a headless Chromium with one tab.
type browser struct {
	*testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []string // complaints of the console
}

// openBrowser starts Chromium. Without one it skips the test.
func openBrowser(t *testing.T) *browser {
	var bin string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && bin == "" {
			bin = path
		}
	}
	if bin == "" {
		t.Skip("Chromium is not installed")
	}
	const forever = 24 * time.Hour // a loaded machine may take a minute to start it
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(bin), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(forever))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(cancel)
	ctx, _ = chromedp.NewContext(ctx)
	// Cancel waits until the browser has ended. If the browser had to be killed, the test has
	// failed before.
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) })
	b := &browser{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	b.do()
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, fmt.Sprint(e.Type))
	}
}

func (b *browser) do(actions ...chromedp.Action) {
	b.Helper()
	require.NoError(b, chromedp.Run(b.ctx, actions...))
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b, b.faults, "errors on the page")
}

// open loads the page of a schedule from a file.
func (b *browser) open(s *ir.Schedule, o emit.Options) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "page.html")
	f, err := os.Create(file)
	require.NoError(b, err)
	require.NoError(b, emit.Write(f, "html", s, o))
	require.NoError(b, f.Close())
	b.visit(file)
}

// replace gives the open page the data of another schedule. That takes a tenth of the time of
// another page.
func (b *browser) replace(s *ir.Schedule) {
	b.Helper()
	_, data, found := strings.Cut(emitted(b.T, "html", s), dataBegins)
	require.True(b, found)
	data, _, _ = strings.Cut(data, "</script>")
	b.do(chromedp.Evaluate("Object.assign(data, "+data+"); state.rank = 0; changeRoot(data.start)", nil))
}

// dataBegins is the start of the element of a page that holds its data.
const dataBegins = `<script type="application/json" id="data">`

// visit loads a page and waits until it is drawn. Before that the browser discards clicks.
func (b *browser) visit(file string) {
	b.Helper()
	drawn := `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`
	b.do(chromedp.Navigate("file://"+file), chromedp.Evaluate(drawn, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
}

// ask evaluates an expression on the page.
func ask[T any](b *browser, format string, args ...any) T {
	b.Helper()
	var out T
	b.do(chromedp.Evaluate(fmt.Sprintf(format, args...), &out))
	return out
}

func (b *browser) text(selector string) string {
	b.Helper()
	return ask[string](b, "document.querySelector(%q).textContent", selector)
}

// clickLeg clicks a point of a multicast's arrow with the mouse. It is the first of some points
// that nothing covers.
func (b *browser) clickLeg(key string) {
	b.Helper()
	at := ask[[]float64](b, `(() => {
		const leg = document.querySelector('[data-key="%s"]'), line = leg.querySelector('.hit');
		for (let part = 0.95; part > 0; part -= 0.05) {
			const p = line.getPointAtLength(line.getTotalLength() * part).matrixTransform(line.getScreenCTM());
			if (leg.contains(document.elementFromPoint(p.x, p.y))) return [p.x, p.y];
		}
		return [];
	})()`, key)
	require.Len(b, at, 2, "no point of %s can be clicked", key)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// keys types keys into the element with the focus.
func (b *browser) keys(keys ...string) {
	b.Helper()
	b.do(chromedp.KeyEvent(strings.Join(keys, "")))
}

// dots returns the round of every set slot in the picture.
func (b *browser) dots() map[fixpoint.Place]int {
	b.Helper()
	type dot struct {
		Rank, Round int
		Slots       string
	}
	out := map[fixpoint.Place]int{}
	for _, d := range ask[[]dot](b, `[...document.querySelectorAll('.dot')].map(d =>
		({rank: Number(d.dataset.rank), round: Number(d.dataset.round), slots: d.dataset.slots}))`) {
		for _, name := range strings.Fields(d.Slots) {
			out[fixpoint.Place{Rank: d.Rank, Slot: slotNamed(name)}] = d.Round
		}
	}
	return out
}

func slotNamed(name string) ir.Slot {
	var n int
	if _, err := fmt.Sscanf(name[1:], "%d", &n); err != nil {
		return ir.Enter
	}
	switch name[0] {
	case 'c':
		return ir.Chunk(n)
	case 'v':
		return ir.Value(n)
	}
	return ir.Signal(n)
}

// leg is a multicast of a chunk to one rank.
type leg struct{ from, to, chunk int }

func (l leg) key() string { return fmt.Sprintf("%d:%d:c%d", l.from, l.to, l.chunk) }

// legsOf lists the multicasts of a schedule by receiver.
func legsOf(s *ir.Schedule) []leg {
	var out []leg
	for from := range s.Programs {
		for _, rule := range s.Programs[from].Rules {
			for _, a := range rule.Do {
				for to := range s.Programs {
					if a.Op == ir.Mcast && to != from {
						out = append(out, leg{from, to, a.Slot.Index()})
					}
				}
			}
		}
	}
	return out
}

// solved returns the run of s under losses, with repairs.
func solved(t *testing.T, s *ir.Schedule, lost map[leg]bool) *fixpoint.Result {
	t.Helper()
	res, err := fixpoint.Run(s, fixpoint.Model{Repairs: true, Lost: func(from, to, chunk int) bool { return lost[leg{from, to, chunk}] }})
	require.NoError(t, err)
	return res
}

// requireShown compares the picture with the fixpoint.
func (b *browser) requireShown(s *ir.Schedule, lost map[leg]bool) {
	b.Helper()
	want := map[fixpoint.Place]int{}
	res := solved(b.T, s, lost)
	for id, round := range res.Slots() {
		if round >= 0 {
			want[res.Layout().PlaceOf(id)] = int(round)
		}
	}
	for rank := range s.Ranks { // including the chunks that no program mentions
		for k := range s.Held(rank).All() {
			want[fixpoint.Place{Rank: rank, Slot: ir.Chunk(k)}] = 0
		}
	}
	require.Equal(b, want, b.dots())
}

func made(t *testing.T, name string, p schedule.Params) *ir.Schedule {
	t.Helper()
	spec, err := schedule.New(name, p)
	require.NoError(t, err)
	return spec.Schedule()
}

// withRoots returns the options of a page that has all roots.
func withRoots(t *testing.T, name string, p schedule.Params) emit.Options {
	t.Helper()
	var o emit.Options
	for p.Root = range p.Ranks {
		o.Others = append(o.Others, made(t, name, p))
	}
	return o
}

// TestExplorer drives the page by mouse and by keys, like a person.
func TestExplorer(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	run := func(name string, test func(*browser)) {
		t.Run(name, func(t *testing.T) {
			if err := b.ctx.Err(); err != nil {
				t.Fatalf("the browser has ended: %v", err)
			}
			sub := &browser{T: t, ctx: b.ctx}
			chromedp.ListenTarget(b.ctx, sub.listen)
			test(sub)
		})
	}
	run("same fixpoint", sameFixpoint)
	run("several blocks", severalBlocks)
	run("mouse", byMouse)
	run("keyboard", byKeyboard)
	run("root", changeOfRoot)
	run("sizes", manySizes)
	run("extracts", manyRanks)
	run("lanes", chosenLanes)
	run("narrow", narrowWindow)
	run("folds", foldsTold)
	run("words", sayings)
	run("counterexamples", counterexamples)
}

// becomes waits until an expression on the page is true.
func (b *browser) becomes(expression string) {
	b.Helper()
	look := `new Promise(done => { const look = () => (` + expression + `) ? done(true) : requestAnimationFrame(look); look(); })`
	b.do(chromedp.Evaluate(look, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// narrowWindow shows that a window too narrow for all rounds says so, leads to the others, and
// follows the round that is played.
func narrowWindow(b *browser) {
	s := made(b.T, "allreduce/halving", schedule.Params{Ranks: 8})
	const hint, frame = `document.getElementById('more')`, `document.getElementById('scroll')`
	b.do(chromedp.EmulateViewport(420, 900))
	b.open(s, emit.Options{})
	b.becomes(`!` + hint + `.hidden && document.getElementById('earlier').disabled`)
	require.True(b, ask[bool](b, `document.documentElement.scrollWidth <= innerWidth`), "the page itself fits")
	for turns := 0; !ask[bool](b, `document.getElementById('later').disabled`); turns++ {
		require.Less(b, turns, 6)
		at := ask[float64](b, frame+`.scrollLeft`)
		b.do(chromedp.Click("#later"))
		b.becomes(fmt.Sprintf(`%s.scrollLeft > %v && !document.getElementById('earlier').disabled`, frame, at))
	}
	inSight := `(() => { const f = ` + frame + `.getBoundingClientRect(), now = document.querySelector('.now').getBoundingClientRect();
		return f.left <= now.left && now.right <= f.right; })()`
	require.False(b, ask[bool](b, "%s", inSight), "round 0")
	b.keys(kb.Home)
	b.becomes(inSight)
	b.keys(kb.End)
	b.becomes(inSight + ` && document.getElementById('round').textContent === '6 of 6'`)
	b.do(chromedp.EmulateViewport(1280, 800))
	b.becomes(hint + `.hidden`)
}

// solution is the result of the page's own fixpoint. The page numbers slots in its own way.
type solution struct {
	Slots, Causes, Rules []int32
	Returns              []int
	Names                []string // by slot
	RankOf               []int
}

// requireSame compares the page's result with the result of package fixpoint. Slots without a
// number of the page are never set.
func (got *solution) requireSame(b *browser, want *fixpoint.Result, of string) {
	b.Helper()
	type set struct{ round, cause int }
	page, ours := map[fixpoint.Place]set{}, map[fixpoint.Place]set{}
	for id, round := range got.Slots {
		at := fixpoint.Place{Rank: got.RankOf[id], Slot: slotNamed(got.Names[id])}
		switch {
		case want.Layout().Slot(at.Rank, at.Slot) < 0: // a held chunk that no program mentions
			require.Zero(b, round, "%s: %v", of, at)
		case round >= 0:
			page[at] = set{int(round), int(got.Causes[id])}
		}
	}
	for id, round := range want.Slots() {
		if round >= 0 {
			ours[want.Layout().PlaceOf(id)] = set{int(round), want.Cause(id)}
		}
	}
	require.Equal(b, ours, page, of)
	require.Equal(b, want.Rules(), got.Rules, of)
	require.Equal(b, want.Returns(), got.Returns, of)
}

// sameFixpoint compares the page's fixpoint with the result of package fixpoint, for all algorithms
// and random losses. Daily tests take the first algorithm of each collective, and all algorithms
// that multicast. They put every other algorithm on hosts.
func sameFixpoint(b *browser) {
	rnd := rand.New(rand.NewPCG(4, 5))
	b.open(made(b.T, "barrier/exchange", schedule.Params{Ranks: 2}), emit.Options{})
	seen := map[string]bool{} // the collectives so far
	for i, alg := range schedule.Algorithms() {
		if seen[alg.Collective] && !alg.Multicasts() && !heavy.Tests() {
			continue
		}
		seen[alg.Collective] = true
		few := []schedule.Params{{Ranks: 5}}
		if i%2 == 0 && slices.Contains(alg.Params, "hosts") {
			few = []schedule.Params{{Ranks: 8, Hosts: 3}}
		}
		for _, p := range heavy.Or(few, []schedule.Params{{Ranks: 1}, {Ranks: 5}, {Ranks: 9}, {Ranks: 8, Hosts: 3}}) {
			if p.Hosts > 0 && !slices.Contains(alg.Params, "hosts") {
				continue
			}
			s := made(b.T, alg.Name, p)
			b.replace(s)
			legs, times := legsOf(s), heavy.Or(3, 6)
			if len(legs) == 0 { // nothing can be lost
				times = 1
			}
			for range times {
				lost := someOf(rnd, legs)
				got := ask[solution](b, `(() => { const lost = new Set(%s);
					const e = solve(view.p, {lost: (f, t, c) => lost.has(legKey(f, t, c)), every: false, without: new Set()});
					return {...e, returns: returns(e), names: view.p.names, rankOf: view.p.rankOf}; })()`, keysOf(lost))
				got.requireSame(b, solved(b.T, s, lost), fmt.Sprintf("%s %+v", alg.Name, p))
			}
			b.requireShown(s, nil)
			require.Regexp(b, fmt.Sprintf("^%d rounds?($| )", solved(b.T, s, nil).Rounds()), b.text("#totals"))
		}
	}
}

// severalBlocks shows schedules of several blocks. The row says which chunks ranks hold, and a
// message of several chunks is one arrow.
func severalBlocks(b *browser) {
	b.open(made(b.T, "barrier/exchange", schedule.Params{Ranks: 2}), emit.Options{})
	for name, s := range bundled(b.T) {
		b.replace(s)
		got := ask[solution](b, `({...view.run, returns: view.returns, names: view.p.names, rankOf: view.p.rankOf})`)
		got.requireSame(b, solved(b.T, s, nil), name)
		b.requireShown(s, nil)
		messages := 0
		for _, p := range s.Programs {
			for _, r := range p.Rules {
				for do := r.Do; len(do) > 0; do = do[len(ir.MessageOf(do)):] {
					if do[0].Op != ir.Fold {
						messages++
					}
				}
			}
		}
		require.Equal(b, messages, ask[int](b, "document.querySelectorAll('#diagram .leg').length"), name)
		root := ask[[]string](b, "[...document.querySelectorAll('#diagram .tag')].map(n => n.textContent)")
		if s.Rooted() {
			require.Equal(b, []string{"root"}, root, name)
		} else {
			require.Empty(b, root, name)
		}
	}
	b.open(bundled(b.T)["allgather-bruck.txt"], emit.Options{})
	b.do(chromedp.Click("#end"))
	require.Contains(b, b.text("#facts"), "5 ranks · 5 blocks")
	require.Contains(b, b.text("#totals"), "15 puts")
	require.Contains(b, b.text("#say"), "rank 0 puts c0 c1 to 3")
	require.Contains(b, b.text("#rules"), "put c0 c1 @3")
	require.Equal(b, 5, ask[int](b, "[...document.querySelectorAll('#diagram .label')].filter(n => n.textContent.includes(' ')).length"))
}

func someOf(rnd *rand.Rand, all []leg) map[leg]bool {
	lost, rate := map[leg]bool{}, rnd.Float64()
	for _, l := range all {
		if rnd.Float64() < rate {
			lost[l] = true
		}
	}
	return lost
}

// keysOf spells legs as an array of their names on the page.
func keysOf(legs map[leg]bool) string {
	keys := []string{}
	for l := range maps.Keys(legs) {
		keys = append(keys, l.key())
	}
	text, _ := json.Marshal(keys) // strings always have a spelling
	return string(text)
}

func byMouse(b *browser) {
	p := schedule.Params{Ranks: 8}
	s := made(b.T, "bcast/mcast-acktree", p)
	b.open(s, withRoots(b.T, "bcast/mcast-acktree", p))
	require.Equal(b, "bcast/mcast-acktree", b.text("#name"))
	require.Equal(b, "0 of 4", b.text("#round"), "the page opens where play begins")
	require.Contains(b, b.text("#say"), "All calls return by round 4. Press Play")
	require.Contains(b, b.text("#keys"), "M next multicast, L lose it")
	b.do(chromedp.Click("#end"))
	require.Zero(b, ask[int](b, "document.querySelectorAll('.future').length"))
	b.do(chromedp.Click("#first"), chromedp.Click("#step"))
	require.Contains(b, b.text("#say"), "Round 1: rank 0 multicasts c0 to 1–7")
	b.requireComb(8)

	lost := map[leg]bool{}
	for _, to := range []int{3, 6} {
		l := leg{0, to, 0}
		lost[l] = true
		b.clickLeg(l.key())
		require.Regexp(b, fmt.Sprintf("to rank %d is lost. c0 arrives by .* from rank", to), b.text("#say"))
		b.requireShown(s, lost)
	}
	require.Equal(b, 2, ask[int](b, "document.querySelectorAll('#diagram .lost').length"))
	b.requireCrossesAtArrival(2)
	b.clickLeg("0:3:c0")
	delete(lost, leg{0, 3, 0})
	b.requireShown(s, lost)

	b.do(chromedp.Click("#loseall"))
	for _, l := range legsOf(s) {
		lost[l] = true
	}
	b.requireShown(s, lost)
	require.Positive(b, ask[int](b, "document.querySelectorAll('#diagram .repair').length"))
	b.do(chromedp.Click("#restore"))
	b.requireShown(s, nil)

	b.do(chromedp.SetValue("#speed", "150"), chromedp.Click("#first"), chromedp.Click("#play"), chromedp.Poll("state.round === view.last && !state.timer", nil))
	require.Empty(b, ask[[]string](b, "[...document.querySelectorAll('.leg.future')].map(n => n.textContent)"))
	b.do(chromedp.Click("#back"), chromedp.MouseClickXY(30, 0))
	b.do(chromedp.Click(`.lane[data-rank="5"] .name`, chromedp.ByQuery))
	require.Contains(b, b.text("#doing"), "rank 5")
	require.Positive(b, ask[int](b, "document.querySelectorAll('#diagram.focus .leg.own').length"))
}

func byKeyboard(b *browser) {
	s := made(b.T, "bcast/mcast-chain", schedule.Params{Ranks: 5, Chunks: 2})
	b.open(s, emit.Options{})
	require.Equal(b, "0 of 2", b.text("#round"))
	b.keys(kb.Home, kb.ArrowRight, kb.ArrowRight)
	require.Equal(b, "2 of 2", b.text("#round"))
	b.keys(kb.ArrowLeft)
	require.Equal(b, "1 of 2", b.text("#round"))

	b.keys("m", "m", "l")
	key := ask[string](b, "document.activeElement.getAttribute('data-key')")
	require.NotEmpty(b, key, "the multicast keeps the focus")
	require.Equal(b, "true", ask[string](b, "document.activeElement.getAttribute('aria-pressed')"))
	require.Contains(b, b.text("#say"), "is lost")
	b.requireShown(s, map[leg]bool{legNamed(key): true})
	b.keys(kb.Enter)
	b.requireShown(s, nil)

	b.keys("a")
	require.Contains(b, b.text("#say"), "All multicasts are lost")
	b.keys("n", "r", "r")
	require.Contains(b, b.text("#doing"), "Rank 2")
	b.keys("?")
	require.False(b, ask[bool](b, "document.querySelector('#help').hidden"))
	b.keys(kb.Home, " ")
	require.Contains(b, b.text("#play"), "Pause")
	b.keys(" ", kb.End)
	require.Equal(b, "2 of 2", b.text("#round"))
	b.requireTabOrder()
}

// requireTabOrder walks through the page with the tab key alone.
func (b *browser) requireTabOrder() {
	b.Helper()
	b.do(chromedp.Evaluate("document.activeElement.blur()", nil))
	seen := map[string]bool{}
	for range 25 {
		b.keys(kb.Tab)
		seen[ask[string](b, "document.activeElement.id || document.activeElement.getAttribute('data-key') || ''")] = true
	}
	for _, id := range []string{"first", "back", "play", "scrub", "speed", "loseall", "restore", "critical", "helpkey", "rank"} {
		require.True(b, seen[id], "the tab key does not come to %s: %v", id, seen)
	}
}

func legNamed(key string) leg {
	var l leg
	// a key that Sscanf cannot read is another leg
	_, _ = fmt.Sscanf(key, "%d:%d:c%d", &l.from, &l.to, &l.chunk)
	return l
}

func changeOfRoot(b *browser) {
	for _, name := range []string{"bcast/mcast-acktree", "anycast/skip-ring", "bcast/chain"} {
		p := schedule.Params{Ranks: 7, Root: 2}
		b.open(made(b.T, name, p), withRoots(b.T, name, p))
		require.Equal(b, "2", ask[string](b, "document.querySelector('#root').selectedOptions[0].textContent"))
		b.do(chromedp.SetValue("#root", "5"), chromedp.Evaluate("document.querySelector('#root').onchange()", nil))
		p.Root = 5
		b.requireShown(made(b.T, name, p), nil)
	}
	b.open(made(b.T, "barrier/hsb", schedule.Params{Ranks: 7}), emit.Options{})
	require.True(b, ask[bool](b, "document.querySelector('#rooted').hidden && document.querySelector('#losses').hidden"))
}

// foldsTold clicks a fold. The page then tells the order of contributions.
func foldsTold(b *browser) {
	f, err := os.Open("../emit/testdata/allreduce-ring.txt")
	require.NoError(b, err)
	s, err := ir.ParseText(f)
	require.NoError(b, err)
	require.NoError(b, f.Close())
	b.open(s, emit.Options{})
	b.do(chromedp.Click("#end"))
	require.Contains(b, b.text("#totals"), "24 puts · 12 folds")
	require.Contains(b, b.text("#legend"), "fold: click it to see its order")
	require.Equal(b, 12, ask[int](b, "document.querySelectorAll('#diagram .fold').length"))
	b.do(chromedp.Click(`#diagram .fold[data-rank="3"][data-round="3"]`))
	require.Contains(b, b.text("#say"), "Rank 3, round 3: c0 = (((01)2)3), v4 = ((01)2).")
	require.Contains(b, b.text("#has"), "fold, round 1: (30)")
	require.Contains(b, b.text("#waits"), "nothing")
	require.Contains(b, b.text("#rules"), "enter v0 → fold v1 = v0 x3")
	require.Contains(b, b.text("#rules"), "v1 → put v1 @1 as v2")
}
