// Package emit prints schedules: the text and JSON exchange forms, a picture
// for Graphviz, a Go package that runs them, a drawing of the rounds for a
// terminal and a rank's program in plain sentences.
//
// The machine-readable forms are in one registry, see [Formats]; each format
// is one file and one line there. Output is a function of the schedule alone:
// the same schedule gives the same bytes.
//
// Pictures of many ranks show an extract, see [Extract].
//
// The pictures show one run: every transfer takes one round and every rule
// fires as soon as it can (package ir/fixpoint). They explain a schedule; what
// holds in every run is for package verify to say.
package emit
