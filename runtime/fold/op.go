package fold

import "reflect"

// An Op is an operation that folds two elements into one. The zero Op is none.
//
// All ranks of a reduction need the same one: ranks compare names, since what a function does
// cannot be sent.
type Op struct {
	name        string
	commutative bool
	code        code
	user        user // of an Op that Func has made
}

// A code says which of the operations here an Op is.
type code int

const (
	none code = iota
	sum
	prod
	least
	greatest
	and
	or
	xor
	logicalAnd
	logicalOr
	logicalXor
	leastLoc
	greatestLoc
	codes // how many there are
)

// Operations on elements of the basic types. Which types each takes, and what it does to them, is
// said in the comment of the package.
var (
	Sum  = Op{name: "sum", commutative: true, code: sum}         // MPI_SUM
	Prod = Op{name: "prod", commutative: true, code: prod}       // MPI_PROD
	Min  = Op{name: "min", commutative: true, code: least}       // MPI_MIN
	Max  = Op{name: "max", commutative: true, code: greatest}    // MPI_MAX
	And  = Op{name: "and", commutative: true, code: and}         // of bits, or of bools: MPI_BAND
	Or   = Op{name: "or", commutative: true, code: or}           // of bits, or of bools: MPI_BOR
	Xor  = Op{name: "xor", commutative: true, code: xor}         // of bits, or of bools: MPI_BXOR
	LAnd = Op{name: "land", commutative: true, code: logicalAnd} // of what is not zero: MPI_LAND
	LOr  = Op{name: "lor", commutative: true, code: logicalOr}   // of what is not zero: MPI_LOR
	LXor = Op{name: "lxor", commutative: true, code: logicalXor} // of what is not zero: MPI_LXOR

	MinLoc = Op{name: "minloc", commutative: true, code: leastLoc}    // of Loc: MPI_MINLOC
	MaxLoc = Op{name: "maxloc", commutative: true, code: greatestLoc} // of Loc: MPI_MAXLOC
)

// A user is an operation of the program's own, on elements of one type.
type user interface {
	element() reflect.Type
	kernel() Kernel // nil if there is no function
}

// Name returns the name of the operation: that of the variable here in small letters, or what was
// given to Func.
func (o Op) Name() string { return o.name }

// Commutative reports whether a·b is b·a, so that a reduction may take operands in any order. Of
// the operations here all are, but for the bits of a NaN in sums and products if both operands are
// NaN.
func (o Op) Commutative() bool { return o.commutative }

// String returns the name of the operation.
func (o Op) String() string { return o.name }
