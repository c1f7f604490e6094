package schedule

// Overlay is a rootless algorithm that every rank runs for the messages of all origins at once: a
// table of channels and one forwarding rule. Implementations are immutable. They do not check
// ranks: the caller must check that the ranks of a foreign frame are in 0 … Ranks-1.
type Overlay interface {
	// Channels appends to dst the ranks to which rank may send, without duplicates.
	Channels(dst []int, rank int) []int
	// Forward appends to dst the ranks to which rank forwards a message of origin that it has
	// received from rank from. For the rank's own message, rank == origin == from.
	Forward(dst []int, rank, origin, from int) []int
	// Sender returns the rank from which rank gets the messages of origin, and origin for the origin itself.
	Sender(rank, origin int) int
}
