package verbs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

const patience = 60 * time.Second

// device names the variable with the adapter for tests that need one. schedlab guests creates
// software adapters.
const device = "SCHEDGEN_VERBS_DEVICE"

// Impossible configurations are refused before the rank waits for others.
func TestRefusals(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, c := range map[string]struct {
		cfg  verbs.Config
		want string
	}{
		"no port":        {verbs.Config{Device: "x:y"}, `"x:y" is not NAME or NAME:PORT`},
		"a key":          {verbs.Config{TCP: tcp.Config{Key: make([]byte, tcp.MinKey)}}, verbs.ErrKey.Error()},
		"encryption":     {verbs.Config{TCP: tcp.Config{Encrypt: true}}, verbs.ErrKey.Error()},
		"too many ranks": {verbs.Config{TCP: tcp.Config{Size: verbs.MaxSize + 1}}, "65536 ranks, at most 65535"},
		"loss":           {verbs.Config{Loss: 2}, "not a probability"},
		"no such device": {verbs.Config{Device: "nobody0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.cfg.TCP.Size == 0 {
				c.cfg.TCP.Size = 2
			}
			c.cfg.TCP.Coordinator = "127.0.0.1:1"
			_, err := verbs.Join(ctx, c.cfg)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "verbs: join as rank 0 of")
		})
	}
}
