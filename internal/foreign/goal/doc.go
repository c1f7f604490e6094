// Package goal reads and writes GOAL text, the input of the simulator LogGOPSim. A GOAL file has
// the labelled sends, receives and calculations of every rank, and says which operations require
// which others.
//
//	file = {NL|comment} "num_ranks" INT {NL|comment} {rank} .
//	rank = "rank" INT "{" {line} "}" {NL|comment} .
//	line = [label ":"] op NL | label ("requires"|"irequires") label NL | comment NL | NL .
//	op   = "send" INT "b" "to" INT opt | "recv" INT "b" "from" (INT|"-1") opt | "calc" INT ["cpu" INT] .
//	opt  = ["tag" (INT|"-1")] ["cpu" INT] ["nic" INT] .
//
// A label belongs to one rank and is defined before it is used.
//
// GOAL has no word for the length of a block, such as the message of a broadcast. This package
// reads it from a comment "// message: 4096b" above num_ranks.
package goal
