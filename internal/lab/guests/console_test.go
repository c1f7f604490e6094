//go:build linux

package guests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConsoleKeepsTheLast(t *testing.T) {
	c := &console{}
	require.Equal(t, "its console has said nothing", c.String())
	write := func(text string) {
		n, err := c.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	write("Kernel pa")
	require.False(t, c.panicked())
	write("nic - not syncing\r\n")
	require.True(t, c.panicked())
	require.Equal(t, "its console has said last:\nKernel panic - not syncing", c.String())
	for i := range 1000 {
		write(fmt.Sprintf("line %d of a long trace\r\n", i))
	}
	require.LessOrEqual(t, len(c.kept), consoleKept)
	text := c.String()
	require.Less(t, len(text), consoleShown+100)
	require.True(t, strings.HasSuffix(text, "\nline 999 of a long trace"), text)
	require.True(t, strings.HasPrefix(text, "its console has said last:\nline "), "whole lines")
}
