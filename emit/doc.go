// Package emit prints schedules: the text and JSON exchange forms, pictures, code in Go and C,
// forms of other programs, a drawing of the rounds for a terminal, and a rank's program in plain
// sentences.
//
// The formats are in one registry, see [Formats]. Each format is one file and one line there.
// Output is a function of the schedule alone: the same schedule gives the same bytes.
//
// Package emit imports ir, internal/engine, and what is below internal/ir and internal/foreign. It
// knows nothing of the algorithms.
//
// Pictures of many ranks show an extract, see [Extract].
//
// The pictures show one run: every transfer takes one round, and every rule fires as soon as it can
// (package internal/ir/fixpoint). They explain a schedule. Package verify proves what holds in
// every run.
package emit
