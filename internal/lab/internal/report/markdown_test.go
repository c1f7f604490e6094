package report

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	WriteTitles(&b, "", "hosts:", "a: b")
	WriteCells(&b, "bcast", 5, errors.New("no|way"))
	WriteCells(&b, "", 0.5, "-")
	require.Equal(t, "| | hosts | a: b |\n|---|--:|---|\n| bcast | 5 | no\\|way |\n| | 0.5 | - |\n", b.String())
}
