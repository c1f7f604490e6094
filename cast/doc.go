// Package cast sends what one rank of a communicator has to all others: a tree of files, or
// anything else that can be written to an [io.Writer] at the one and read from an [io.Reader] at
// the others.
//
//	report, err := cast.Send(ctx, comm, cast.Tree(pack.At(path), nil), cast.SendOptions{})          // at rank 0
//	err := cast.Receive(ctx, comm, cast.Into(unpack.Target{Dir: dir}, nil), cast.ReceiveOptions{}) // at the others
//
// The bytes are cut into pieces of 1 MiB, each of which is broadcast; four broadcasts are under way
// at a time. So memory is bounded, whatever is sent: some 30 pieces at the sender, 16 at a
// receiver. Reading, the network and writing go on at the same time. Each piece has a checksum;
// package unpack checks each file by SHA-256.
//
// # Failures
//
// A receiver that cannot go on by itself, because its disk is full, say, tells the sender why and
// takes part in the broadcasts without writing. One whose writer takes nothing for a while does the
// same, so that it does not keep the others waiting for longer; so does one that is much slower
// than the others, if the sender asks for that (SendOptions.Behind): by its disk, or by its
// network, also if that becomes slow meanwhile. If a rank is lost those that are left shrink the
// communicator, tell each other how many pieces they have, and go on with the first that one of
// them lacks: the sender keeps a piece until all have confirmed that they have it. If the sender is
// lost the cast has failed.
//
// A receiver may be left out, or lose the sender. Its [Intake] then waits for the rest, and a later
// communicator brings it, together with other receivers that have about as much. The source must
// write the same bytes again ([Tail]). A [pack.Origin] remembers what it was in the first round,
// and fails if it has changed since. If a file has changed while the first round read it, later
// rounds send other bytes ([pack.Origin.Voided]), and receivers begin anew.
//
// # Trust
//
// A receiver writes below its directory alone, and takes owners, setuid, access lists, extended
// attributes, links that lead out, and deletion only if it has asked for them ([unpack.Accept]).
package cast
