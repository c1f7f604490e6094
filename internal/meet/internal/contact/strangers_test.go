package contact

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection that hangs up without a word, such as one that tries whether a port answers, is not
// refused. One that says something else, or is silent for too long, is refused.
func TestRefusals(t *testing.T) {
	s := &Strangers{Most: 3}
	var c Credentials
	refuse := func(conn net.Conn) (uint64, error) {
		s.Enter(conn)
		_, err := c.Admit(conn)
		require.ErrorIs(t, err, ErrStranger)
		s.Refuse(conn, err)
		return s.Count()
	}
	refused, last := refuse(&scripted{in: bytes.NewReader(nil)})
	require.Zero(t, refused)
	require.NoError(t, last)
	refused, last = refuse(&scripted{in: bytes.NewReader([]byte("GET"))})
	require.Equal(t, uint64(1), refused)
	require.EqualError(t, last, "not a member's hello: unexpected EOF")
	silent, other := net.Pipe()
	defer other.Close()
	require.NoError(t, silent.SetDeadline(time.Unix(1, 0)))
	refused, last = refuse(silent)
	require.Equal(t, uint64(2), refused)
	require.EqualError(t, last, "not a member's hello: read pipe: i/o timeout")
}
