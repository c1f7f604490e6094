package schedule

// Overlay is a rootless algorithm as every rank runs it for the messages of
// all origins at once: a table of channels and one forwarding rule.
// Implementations are immutable. Ranks are not checked; those of a frame from
// outside must be within 0 … Ranks-1.
type Overlay interface {
	// Channels appends to dst the ranks that rank may send to, without
	// duplicates.
	Channels(dst []int, rank int) []int
	// Forward appends to dst where rank sends a message of origin that it has
	// received from rank from; rank == origin == from for its own message.
	Forward(dst []int, rank, origin, from int) []int
}
