// Package ir is the intermediate representation of schedules: single-assignment slots and triggered
// puts.
//
// A [Schedule] holds one [Program] for every rank. A program is a set of rules of the form "when
// all these slots are set, do these actions". A slot, once set, stays set, and a rule fires once.
// So a schedule is monotone: the same slots end up set in whatever order the network delivers. A
// single fixpoint therefore covers every interleaving, and package verify proves schedules with it.
//
// # Exchange forms
//
// The package reads and writes two forms of the same content. The JSON form is for other programs
// ([WriteJSON], [ParseJSON]). The text form is for people, diffs and goldens ([WriteText],
// [ParseText]). WriteText spells each schedule in exactly one way:
//
//	text    = header { program } .
//	header  = "schedule " NAME "/" NAME " ranks=" N [ " root=" N ] [ " chunks=" N [ " recovery" ] ] { " " NAME "=" N } "\n" .
//	program = "rank " N [ " signals=" N ] [ " values=" N ] "\n" { "  " rule "\n" } "  done" { " " slot } "\n" [ ask ] [ report ] [ twice ] .
//	rule    = slot " " { slot " " } [ "unless " slot " after " N " " ] "-> " action { ", " action } .
//	action  = put | "mcast " slot | "fold " slot " =" " " slot { " " slot } .
//	put     = "put " { slot " " } place [ " as" " " slot { " " slot } ] .
//	place   = slot " @" N .
//	slot    = "enter" | "c" N | "s" N | "v" N | "x" N .
//	ask     = "  ask" { " " N } "\n" .
//	report  = "  report" [ " " N ] [ " from" { " " N } ] "\n" .
//	twice   = "  twice " place { ", " place } "\n" .
//
// N is a decimal number without leading zeros. A NAME starts with a lower-case letter and continues
// with lower-case letters, digits and hyphens.
//
//   - Parameters are sorted by name, and programs by rank.
//   - A root is named only for a collective that has one ([Collective]).
//   - A barrier has chunks only if it multicasts, and it has no recovery.
//   - A put of several slots is one message. "as" gives the name of each of them at the
//     destination.
//   - A rank's numbers of signals and partial results are named only where they are larger than the
//     rules and the puts to the rank show.
//   - ask, report and twice are the program's [Recovery]: the ranks it asks, the rank it reports to
//     and the ranks that report to it, and the puts of signals that it sends twice. They occur only
//     if the first line says recovery.
//
// ParseText also accepts two things in texts that people write. A line may end in blanks and a
// comment, which starts with # and ends with the line. Lines of blanks or of a comment alone may
// stand anywhere. ParseText drops comments, so WriteText does not write them again.
//
// The readers refuse input that is not a schedule: bad syntax, and counts, ranks and slots out of
// range. They accept a schedule that does the wrong thing, such as a barrier that releases ranks
// early.
//
// The package imports no other package of the module.
package ir
