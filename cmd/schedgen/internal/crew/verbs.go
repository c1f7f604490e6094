package crew

import (
	"context"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// openVerbs connects a rank with the others.
func (l *Link) openVerbs(ctx context.Context, puts tcp.Config) (*verbs.Transport, error) {
	return verbs.Join(ctx, verbs.Config{TCP: puts, Device: l.Device, Loss: l.Loss, Seed: l.Seed})
}

// TryVerbs tests the port with a single rank. It returns the number of bytes of a message that fit
// into a datagram, or 0 if the device does not multicast. The error for a missing port does not
// mention ranks.
func (l *Link) TryVerbs(ctx context.Context) (datagram int, err error) {
	if err := verbs.Check(verbs.Config{Device: l.Device}); err != nil {
		return 0, err
	}
	t, err := l.openVerbs(ctx, tcp.Config{Size: 1, Key: l.Key, Encrypt: l.Encrypt})
	if err != nil {
		return 0, err
	}
	return t.Caps().Datagram, t.Close(true, 0)
}
