package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/membershiptest"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// A member that waits for a missing group says where it looks, and why no member answers.
func TestWaitingIsTold(t *testing.T) {
	seed := porttest.Hold(t) // no process listens there
	var c clock.Manual
	var said membershiptest.Words
	m, err := embedded.New(embedded.Config{Group: "g", Listen: "127.0.0.1:0", Seeds: []string{seed}, Clock: &c, Log: said.Log()})
	require.NoError(t, err)
	defer m.Close()
	said.Await(t, &c, m)
	require.Contains(t, said.String(), "waiting to be taken in by the group at "+seed+": ")
	require.Contains(t, said.String(), "connection refused")
}
