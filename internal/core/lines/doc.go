// Package lines says where signals and chunks stand in the windows of ranks, and which lines of its
// window a rank uses now. The package writes and reads no line; a core does, as the package says.
//
// The signals of a barrier are flags, and each has a line. If one rule puts a signal to several
// ranks, the flag stands once, in the sender's window, and all of them look there if they can read
// it (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, section 4.1). Likewise a chunk or a
// partial result stands once, in a line of the rank that puts it, and all receivers collect it. A
// slot that stands in the sender's window is a [Post].
//
// A [Layout] holds the lines of one rank under one schedule. A [Ledger] holds the lines in use.
//
// # When a line is written again
//
// Flags: barriers take turns, so a barrier uses the lines of the barrier before the last. No rank
// writes too early. Every rank runs its barriers one after the other, even with several operations
// open: a rank that has begun barrier b has ended b-1. All ranks had begun b-1 before that
// (verify's check barrier), so all had ended b-2, and had seen all its flags that they wait for. A
// rank that has ended a barrier has put all its signals (check retire), so it writes no flag late.
// A flag on its way to a line is no problem either: every signal has a rule that waits for it
// (check wellformed), and all rules of a rank fire before it ends (check retire). The bound is two
// operations, as in check reuse, where only barriers count.
//
// Chunks: operations that move chunks have no such bound. The root of a broadcast may be any number
// of operations ahead (check reuse). So a rank says up to which operation it has ended all, and a
// line is written again only when all ranks have ended the operation of its content. A chunk
// without a line is put, and a receiver accepts a chunk either way. All ranks that reach each other
// count the lines of operations alike, since all make the same calls: each operation takes as many
// lines as the rank that posts most. A rank posts its chunks in the order of its rules, and leaves
// other lines out.
package lines
