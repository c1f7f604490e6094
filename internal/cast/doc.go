// Package cast sends files or a stream from one rank of a communicator to all others. [Send] and
// [Receive] work over a communicator of any kind. [To], [Serve], [Stand] and [ReceiveFrom] also
// connect the hosts.
//
//	report, err := cast.Send(ctx, comm, cast.Tree(pack.At(path), nil), cast.SendOptions{})          // at rank 0
//	err := cast.Receive(ctx, comm, cast.Into(unpack.Target{Dir: dir}, nil), cast.ReceiveOptions{}) // at the others
//
// Send cuts the bytes into pieces of 1 MiB and broadcasts each piece. Up to four broadcasts are
// under way at a time. So memory is bounded, whatever is sent: about 30 pieces at the sender, and
// 16 at a receiver. Reading, the network and writing go on at the same time. Each piece has a
// checksum, and package unpack checks each file by SHA-256.
//
// # Failures
//
// A receiver whose disk is full tells the sender so. It then takes part in the broadcasts without
// writing. A receiver whose sink takes nothing for ReceiveOptions.Patience does the same, and no
// longer holds up the others. With SendOptions.Behind, so does a receiver whose disk is much slower
// than those of the others, and a receiver whose network is much slower leaves. If a rank is lost,
// the other ranks shrink the communicator and tell each other how many pieces they have. They
// continue with the first piece that one of them lacks. The sender keeps a piece until all
// receivers have confirmed it. If the sender is lost, the cast has failed.
//
// A receiver may be left out, or lose the sender. Its [Intake] then waits for the rest of the
// stream, which a later communicator brings. The source must then write the same bytes again
// ([Tail]). A [pack.Origin] remembers the files of the first round, and fails if they have changed
// since. If a file changed while the first round read it, later rounds send other bytes
// ([pack.Origin.Voided]), and the receivers start from the beginning. An Intake that has everything
// ([Intake.Done]) when the sender is lost needs a later communicator, too: the sender may not have
// counted it.
//
// # Trust
//
// A receiver writes only below its directory. It sets owners, setuid bits, access lists and
// extended attributes, creates links that lead out of the directory, and deletes files, only if it
// was told to ([unpack.Accept]).
package cast
