package emit

import "github.com/schedgen/schedgen/ir"

// layout is how ranks are counted other than by their numbers: from the root
// on, and by the hosts that the parameter hosts of a schedule divides them
// into, host h having the ranks r with ⌊r·hosts/ranks⌋ = h.
type layout struct {
	ranks, root, chunks int
	hosts               int // 0: not said
}

func layoutOf(s *ir.Schedule) *layout {
	l := &layout{ranks: s.Ranks, root: s.Root, chunks: s.Chunks}
	for _, p := range s.Params {
		if p.Name == "hosts" && p.Value > 0 && p.Value <= s.Ranks {
			l.hosts = p.Value
		}
	}
	return l
}

// place returns how far rank is behind the root.
func (l *layout) place(rank int) int { return residue(rank-l.root, l.ranks) }

// rankAt, master and members are what the functions of generated code are,
// also for numbers that are no places.
func (l *layout) rankAt(place int) int { return (place + l.root) % l.ranks }

// host returns how far the host of rank is behind the root's.
func (l *layout) host(rank int) int {
	return residue(rank*l.hosts/l.ranks-l.home(), l.hosts)
}

func (l *layout) home() int { return l.root * l.hosts / l.ranks }

// master returns the root for its own host, the first rank for others.
func (l *layout) master(host int) int {
	if host == 0 {
		return l.root
	}
	return l.first(l.hostAt(host))
}

func (l *layout) members(host int) int {
	h := l.hostAt(host)
	return l.first(h+1) - l.first(h)
}

// hostAt returns the number of the host so far behind the root's.
func (l *layout) hostAt(host int) int {
	if l.root == 0 {
		return host
	}
	return (host + l.home()) % l.hosts
}

// first returns the first rank of the host with number h.
func (l *layout) first(h int) int { return (h*l.ranks + l.hosts - 1) / l.hosts }

func residue(n, mod int) int { return ((n % mod) + mod) % mod }

// frame is one way of counting ranks.
type frame struct {
	own  variable
	size int // numbers are below it
	from func(rank int) int
	back op // from a number to a rank; opVar: they are the same
}

// frames returns those that differ for this schedule.
func (l *layout) frames() []*frame {
	list := []*frame{{varRank, l.ranks, func(rank int) int { return rank }, opVar}}
	if l.root != 0 {
		list = append(list, &frame{varPlace, l.ranks, l.place, opRankAt})
	}
	if l.hosts > 0 {
		list = append(list, &frame{varHost, l.hosts, l.host, opMaster})
	}
	return list
}

// rank returns the expression of a rank whose number in the frame is e.
func (f *frame) rank(e *expr) *expr {
	if f.back == opVar {
		return e
	}
	return of1(f.back, e)
}

// env returns where code of rank is.
func (f *finder) env(rank int) env {
	e := env{layout: f.layout}
	for _, fr := range f.frames {
		e.vars[fr.own] = fr.from(rank)
	}
	return e
}

// layoutFuncs writes the functions that generated code counts ranks by, as far
// as it uses them.
func (g *goWriter) layoutFuncs() {
	if g.used[opPlaceOf] {
		g.p("// placeOf returns how far rank is behind the root.")
		g.p("func placeOf(rank int) int { return (rank - Root + Ranks) %% Ranks }\n")
	}
	if g.used[opRankAt] {
		g.p("// rankAt returns the rank so far behind the root.")
		g.p("func rankAt(place int) int { return (place + Root) %% Ranks }\n")
	}
	if !g.used[opHostOf] && !g.used[opMaster] && !g.used[opMembers] {
		return
	}
	g.p("// hosts is how many hosts the ranks are on: rank r is on number r*hosts/Ranks.\nconst hosts = %d\n", g.hosts)
	root := g.root != 0
	if g.used[opHostOf] {
		g.p("// hostOf returns how far the host of rank is behind the root's.")
		if root {
			g.p("func hostOf(rank int) int { return (rank*hosts/Ranks - Root*hosts/Ranks + hosts) %% hosts }\n")
		} else {
			g.p("func hostOf(rank int) int { return rank * hosts / Ranks }\n")
		}
	}
	if g.used[opMaster] {
		g.p("// master returns the rank that others reach the host by: its first, of the root's host the root.")
		g.p("func master(host int) int {")
		if root {
			g.p("if host == 0 {\nreturn Root\n}")
		}
		g.p("return first(%s)\n}\n", g.hostNumber())
	}
	if g.used[opMembers] {
		g.p("// members returns how many ranks are on a host.")
		if root {
			g.p("func members(host int) int {\nh := %s\nreturn first(h+1) - first(h)\n}\n", g.hostNumber())
		} else {
			g.p("func members(host int) int { return first(host+1) - first(host) }\n")
		}
	}
	if g.used[opMaster] || g.used[opMembers] {
		g.p("// first returns the first rank of the host with that number.")
		g.p("func first(host int) int { return (host*Ranks + hosts - 1) / hosts }\n")
	}
}

func (g *goWriter) hostNumber() string {
	if g.root == 0 {
		return "host"
	}
	return "(host + Root*hosts/Ranks) % hosts"
}
