// Package build writes schedules as a data flow: a function says where each piece of data goes, and
// the package makes the slots and rules of all ranks.
//
// A [Piece] is a piece of data at one rank, or a sign that something has happened there. Its
// methods say what becomes of it:
//
//	b.Chunk(0, 2).PutTo(5)                     // rank 0 puts chunk 2 to rank 5
//	sum := b.Chunk(3, 0).Fold(x)               // rank 3 folds x onto its contribution
//	sum.Result()                               // this is what rank 3 wants
//	b.Done(4, b.Signal(3, 4, sum))             // rank 4 waits for rank 3's sum
//
// A rank does each step as soon as the pieces that the step takes are at the rank. It sends in the
// order of the calls. Package schedule registers such a function as an algorithm; [Schedule] makes
// a single schedule. Whether the schedule is right is for package verify to say.
//
// A wrong call, such as a put to a rank that does not exist, ends the function. The error of
// Schedule names the file and the line of the call.
package build
