//go:build !verbs || !linux || !cgo

package verbs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// The error of a program without verbs tells how to build one with verbs.
func TestNotBuilt(t *testing.T) {
	_, err := verbs.Join(t.Context(), verbs.Config{TCP: tcp.Config{Size: 1}})
	require.ErrorIs(t, err, verbs.ErrNotBuilt)
	require.ErrorContains(t, err, "-tags verbs")
	require.ErrorIs(t, verbs.Check(verbs.Config{}), verbs.ErrNotBuilt)
}
