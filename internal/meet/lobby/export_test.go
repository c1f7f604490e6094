package lobby

// Lossless makes h take the networks of its guests for ones that lose nothing. The loopback network
// of a busy machine may send again what is only late.
func Lossless(h *Lobby) { h.sent = func(*visitor) (int, float64) { return 0, 0 } }
