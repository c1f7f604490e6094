package datagram

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/stream"
)

// The card of this transport needs room in the blob.
func TestBlobTooLong(t *testing.T) {
	_, err := Join(t.Context(), Config{TCP: stream.Config{
		Options: stream.Options{Size: 1, Coordinator: "127.0.0.1:1"}, Blob: make([]byte, meet.MaxBlob),
	}})
	require.ErrorContains(t, err, "TCP.Blob")
}
