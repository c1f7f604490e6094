package fold

import "reflect"

// An Op is an operation that folds two elements into one. The zero Op is no operation.
//
// All ranks of a reduction must use the same Op. The ranks compare its name, because a function
// cannot be sent.
type Op struct {
	name        string
	commutative bool
	code        code
	user        user // of an Op that Func has made
}

// A code identifies an operation of this package.
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
	codes // the number of codes
)

// Operations on elements of the basic types. The package comment lists the types of each and
// defines the results.
var (
	Sum  = Op{name: "sum", commutative: true, code: sum}         // MPI_SUM
	Prod = Op{name: "prod", commutative: true, code: prod}       // MPI_PROD
	Min  = Op{name: "min", commutative: true, code: least}       // MPI_MIN
	Max  = Op{name: "max", commutative: true, code: greatest}    // MPI_MAX
	And  = Op{name: "and", commutative: true, code: and}         // of bits, or of bools: MPI_BAND
	Or   = Op{name: "or", commutative: true, code: or}           // of bits, or of bools: MPI_BOR
	Xor  = Op{name: "xor", commutative: true, code: xor}         // of bits, or of bools: MPI_BXOR
	LAnd = Op{name: "land", commutative: true, code: logicalAnd} // of integers as truth values: MPI_LAND
	LOr  = Op{name: "lor", commutative: true, code: logicalOr}   // of integers as truth values: MPI_LOR
	LXor = Op{name: "lxor", commutative: true, code: logicalXor} // of integers as truth values: MPI_LXOR

	MinLoc = Op{name: "minloc", commutative: true, code: leastLoc}    // of Loc: MPI_MINLOC
	MaxLoc = Op{name: "maxloc", commutative: true, code: greatestLoc} // of Loc: MPI_MAXLOC
)

// A user is an operation of the program's own, on elements of one type.
type user interface {
	element() reflect.Type
	kernel() Kernel // nil if there is no function
}

// Name returns the name of the operation: the name of the variable in lower case, or the name given
// to Func.
func (o Op) Name() string { return o.name }

// Commutative reports whether a·b equals b·a, so that a reduction may take operands in any order.
// All operations of this package are commutative, except for the bits of a sum or product of two
// NaNs.
func (o Op) Commutative() bool { return o.commutative }

// Custom reports whether Func has made o, so its kernel calls a function of the program.
func (o Op) Custom() bool { return o.user != nil }

// String returns the name of the operation.
func (o Op) String() string { return o.name }
