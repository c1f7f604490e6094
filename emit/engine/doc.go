// Package engine runs schedules over point-to-point messages that are not lost, such as those of MPI.
//
// [Lower] turns a schedule into a [Plan] for each rank: messages, folds and the order in which they
// become due. [Interpreter] is the C code that executes a plan, and [MPI] is what it needs of MPI.
// Whoever writes C files and whoever links a library use the same two texts.
package engine

import _ "embed" // for the texts in C

// Interpreter is the interpreter of plans in C99. It calls functions that the code after it defines:
// [MPI], or others with the same names.
//
//go:embed interpreter.h
var Interpreter string

// MPI is what [Interpreter] calls, by the functions of mpi.h.
//
//go:embed pointtopoint.h
var MPI string
