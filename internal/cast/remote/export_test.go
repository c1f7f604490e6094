package remote

import "time"

// SetPatience changes the patience of a session whose host has answered.
func (s *Session) SetPatience(d time.Duration) { s.watch.patience = d }
