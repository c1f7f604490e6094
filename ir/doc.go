// Package ir is the intermediate representation of schedules: single-assignment
// slots and triggered puts.
//
// A [Schedule] holds one [Program] for every rank; a program is a set of rules
// of the form "when all these slots are set, do these actions". Slots only ever
// become set and a rule fires once, so a schedule is monotone: the network may
// deliver in any order and the same slots end up set. That makes proofs over
// every interleaving a single fixpoint (package verify).
//
// # Exchange forms
//
// The package reads and writes two forms of the same content. The JSON form is
// for other programs ([WriteJSON], [ParseJSON]). The text form is for people,
// diffs and goldens ([WriteText], [ParseText]). WriteText has exactly one spelling
// per schedule:
//
//	text    = header { program } .
//	header  = "schedule " NAME "/" NAME " ranks=" N [ " root=" N ] [ " chunks=" N [ " recovery" ] ] { " " NAME "=" N } "\n" .
//	program = "rank " N [ " signals=" N ] "\n" { "  " rule "\n" } "  done" { " " slot } "\n" [ ask ] [ report ] [ twice ] .
//	rule    = slot " " { slot " " } [ "unless " slot " after " N " " ] "-> " action { ", " action } .
//	action  = "put " { slot " " } place | "mcast " slot .
//	place   = slot " @" N .
//	slot    = "enter" | "c" N | "s" N .
//	ask     = "  ask" { " " N } "\n" .
//	report  = "  report" [ " " N ] [ " from" { " " N } ] "\n" .
//	twice   = "  twice " place { ", " place } "\n" .
//
// Only collectives that have a root name one ([Collective]). A barrier has no recovery, and chunks only if
// it multicasts. A put of several chunks is one message. Parameters are sorted by name, programs by rank. A rank's signals are named only where they are more than its rules,
// and the puts to it, speak of. ask, report and twice are the program's
// [Recovery]: whom it asks, to whom it reports and who reports to it, and which
// puts of signals are sent twice. They stand only where the first line says
// recovery. N is decimal without leading zeros; a NAME is lower-case letters,
// digits and hyphens, a letter first.
//
// ParseText takes two more things, for texts that people write. A line may end in
// blanks and in a comment, which begins with # and goes to the end of the line. Lines
// of blanks or of a comment alone may stand anywhere. Comments are not kept: what is
// read and written again has the one spelling.
//
// The readers refuse what is no schedule: bad syntax, counts, ranks and slots
// out of range. A schedule that does the wrong thing, such as a barrier that
// releases early, is read like any other.
//
// The package imports nothing of the other packages.
package ir
