// Package engine runs schedules over reliable point-to-point messages, such as MPI's.
//
// [Lower] turns a schedule into a [Plan] for each rank: messages, folds and the order in which they
// become due. [Interpreter] is C code that executes a plan, and [MPI] defines the functions that it
// calls in terms of MPI. Generated C files and the library for C programs use the same two texts.
package engine

import _ "embed" // for the texts in C

// Interpreter is the interpreter of plans in C99. It calls functions that the code after it must
// define: [MPI], or others with the same names.
//
//go:embed interpreter.h
var Interpreter string

// MPI defines the functions that [Interpreter] calls, using functions of mpi.h.
//
//go:embed pointtopoint.h
var MPI string
