// Package goal reads GOAL text, the input of the simulator LogGOPSim: for every
// rank labelled sends, receives and calculations, and which requires which.
//
//	file = {NL|comment} "num_ranks" INT {NL|comment} {rank} .
//	rank = "rank" INT "{" {line} "}" {NL|comment} .
//	line = [label ":"] op NL | label ("requires"|"irequires") label NL | comment NL | NL .
//	op   = "send" INT "b" "to" INT opt | "recv" INT "b" "from" (INT|"-1") opt | "calc" INT ["cpu" INT] .
//	opt  = ["tag" (INT|"-1")] ["cpu" INT] ["nic" INT] .
//
// Labels are of one rank, and defined before they are used.
//
// GOAL does not say how long a block is, such as the message of a broadcast. A comment
// "// message: 4096b" above num_ranks does, to those who know it.
package goal
