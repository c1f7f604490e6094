package emit

import (
	"math/bits"
	"strconv"
)

// expr is a number in generated code: a formula of variables, with a value
// wherever the code comes by and a spelling in Go. Expressions are not modified.
type expr struct {
	op   op
	n    int // the value of a literal, the number of a variable, column or list
	args []*expr
}

type op uint8

// The first operators take two operands and are spelled by operators.
const (
	opMul op = iota
	opDiv
	opMod
	opShl
	opShr
	opAnd
	opAdd
	opSub
	opXor

	opLit
	opRanks  // the constant Ranks
	opChunks // the constant Chunks
	opVar
	opZeros // number of trailing zero bits
	opLen   // number of bits up to the highest one
	opMin
	opMax
	opRankAt  // a rank by its place from the root
	opMaster  // the rank that a host of that place sends and receives by
	opMembers // how many ranks a host of that place has
	opPlaceOf // what defines varPlace
	opHostOf  // what defines varHost
	opCell    // column n of a role's table, at the rank
	opListed  // element of list n of a role, at the rank
)

var operators = [...]string{"*", "/", "%", "<<", ">>", "&", "+", "-", "^"}

// variable is what a formula may depend on.
type variable int

const (
	varRank  variable = iota
	varPlace          // of the rank, counted from the root
	varHost           // of the rank, counted from the root's
	varTo             // the destination of a put, in whichever of the three ways
	varK              // the loops around: over rules that differ in the slots they wait for,
	varJ              // over repairs of rules that wait for the same,
	varI              // over actions,
	varH              // and over actions within
	varTimes          // how often the innermost loop runs
	varSlot           // index of the slot that has just been set
	numVars
)

// env is where an expression is evaluated.
type env struct {
	*layout
	vars [numVars]int
	bad  bool // a shift out of range or a division by zero
}

func lit(n int) *expr             { return &expr{op: opLit, n: n} }
func of1(o op, a *expr) *expr     { return &expr{op: o, args: []*expr{a}} }
func variableOf(v variable) *expr { return &expr{op: opVar, n: int(v)} }

// of2 returns a o b, simpler where it can be.
func of2(o op, a, b *expr) *expr {
	if e := folded(o, a, b); e != nil {
		return e
	}
	if o == opAdd || o == opSub {
		if e := summed(o, a, b); e != nil {
			return e
		}
	}
	return &expr{op: o, args: []*expr{a, b}}
}

// folded returns a o b if literals make it a literal or one of the two, nil
// otherwise.
func folded(o op, a, b *expr) *expr {
	switch {
	case a.op == opLit && b.op == opLit && defined(o, b.n):
		return lit(calculate(o, a.n, b.n))
	case b.is(0) && (o == opAdd || o == opSub || o == opXor || o == opShl || o == opShr), b.is(1) && (o == opMul || o == opDiv):
		return a
	case a.is(0) && (o == opAdd || o == opXor), a.is(1) && o == opMul:
		return b
	case o == opMul && (a.is(0) || b.is(0)):
		return lit(0)
	}
	return nil
}

// defined reports whether Go has a value for any int o b, and shifts keep small
// numbers small enough for an int.
func defined(o op, b int) bool {
	switch o {
	case opShl, opShr:
		return b >= 0 && b < 62
	case opDiv, opMod:
		return b != 0
	}
	return true
}

// summed returns the sum or difference of a and b with its literal at the end
// and no sign where another operator does, nil if it is so already.
func summed(o op, a, b *expr) *expr {
	switch {
	case b.op == opLit && b.n < 0:
		return of2(opposite(o), a, lit(-b.n))
	case b.op == opLit && a.ends():
		return of2(opAdd, a.args[0], lit(signed(a.op, a.args[1].n)+signed(o, b.n)))
	case b.op == opLit && a.op == opSub && a.args[0].op == opLit:
		return of2(opSub, lit(a.args[0].n+signed(o, b.n)), a.args[1])
	case a.ends() && a.args[0].op != opRanks:
		return of2(opAdd, of2(o, a.args[0], b), lit(signed(a.op, a.args[1].n)))
	case o == opAdd && a.negative():
		return of2(opSub, b, of2(opMul, lit(-a.args[0].n), a.args[1]))
	case o == opAdd && a.op == opLit:
		return of2(opAdd, b, a)
	case b.ends():
		return of2(o, of2(o, a, b.args[0]), lit(signed(b.op, b.args[1].n)))
	case b.negative():
		return of2(opposite(o), a, of2(opMul, lit(-b.args[0].n), b.args[1]))
	}
	return nil
}

// ends reports whether e is something plus or minus a literal.
func (e *expr) ends() bool { return (e.op == opAdd || e.op == opSub) && e.args[1].op == opLit }

// negative reports whether e is a negative literal times something.
func (e *expr) negative() bool { return e.op == opMul && e.args[0].op == opLit && e.args[0].n < 0 }

func opposite(o op) op {
	if o == opAdd {
		return opSub
	}
	return opAdd
}

func signed(o op, n int) int {
	if o == opSub {
		return -n
	}
	return n
}

func add(a, b *expr) *expr { return of2(opAdd, a, b) }
func sub(a, b *expr) *expr { return of2(opSub, a, b) }
func mul(a, b *expr) *expr { return of2(opMul, a, b) }

// constant returns the value of an expression that is the same everywhere and
// spelled as a number.
func (e *expr) constant() (int, bool) { return e.n, e.op == opLit }

func (e *expr) is(n int) bool { return e.op == opLit && e.n == n }

// uses reports whether e depends on v.
func (e *expr) uses(v variable) bool {
	if e.op == opVar {
		return e.n == int(v)
	}
	for _, a := range e.args {
		if a.uses(v) {
			return true
		}
	}
	return false
}

// put returns e with v replaced.
func (e *expr) put(v variable, by *expr) *expr {
	switch {
	case e.op == opVar && e.n == int(v):
		return by
	case !e.uses(v):
		return e
	case e.op <= opXor:
		return of2(e.op, e.args[0].put(v, by), e.args[1].put(v, by))
	}
	c := *e
	c.args = make([]*expr, len(e.args))
	for i, a := range e.args {
		c.args[i] = a.put(v, by)
	}
	return &c
}

// size is how many operands and operators e has.
func (e *expr) size() int {
	n := 1
	for _, a := range e.args {
		n += a.size()
	}
	return n
}

// at returns the value of e, as Go computes it.
func (e *expr) at(at *env) int {
	switch e.op {
	case opLit:
		return e.n
	case opRanks:
		return at.ranks
	case opChunks:
		return at.chunks
	case opVar:
		return at.vars[e.n]
	}
	a := e.args[0].at(at)
	switch e.op {
	case opZeros:
		return bits.TrailingZeros(uint(a))
	case opLen:
		return bits.Len(uint(a))
	case opRankAt:
		return at.rankAt(a)
	case opMaster:
		return at.master(a)
	case opMembers:
		return at.members(a)
	}
	b := e.args[1].at(at)
	switch e.op {
	case opMin:
		return min(a, b)
	case opMax:
		return max(a, b)
	}
	if at.bad = at.bad || !defined(e.op, b); at.bad {
		return 0
	}
	return calculate(e.op, a, b)
}

func calculate(o op, a, b int) int {
	switch o {
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opMod:
		return a % b
	case opShl:
		return a << b
	case opShr:
		return a >> b
	case opAnd:
		return a & b
	case opAdd:
		return a + b
	case opSub:
		return a - b
	}
	return a ^ b
}

// key is an expression's identity.
func (e *expr) key() string {
	b := make([]byte, 0, 32)
	return string(e.appendKey(b))
}

func (e *expr) appendKey(b []byte) []byte {
	b = append(b, byte(e.op)+'A')
	b = strconv.AppendInt(b, int64(e.n), 10)
	for _, a := range e.args {
		b = a.appendKey(b)
	}
	return b
}
