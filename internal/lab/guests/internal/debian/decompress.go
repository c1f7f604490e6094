package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// compressions lists the forms of compression: their first bytes, and the program of the host that
// decompresses each.
var compressions = []struct {
	magic   string
	command []string
}{
	{"\xfd7zXZ\x00", []string{"xz", "-dc"}},
	{"\x28\xb5\x2f\xfd", []string{"zstd", "-dcq"}},
	{"\x1f\x8b", []string{"gzip", "-dc"}},
}

// decompress writes the decompressed data to w.
func decompress(ctx context.Context, data []byte, w io.Writer) error {
	for _, c := range compressions {
		if !bytes.HasPrefix(data, []byte(c.magic)) {
			continue
		}
		cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
		var says bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), w, &says
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: %s", c.command[0], err, bytes.TrimSpace(says.Bytes()))
		}
		return nil
	}
	return errors.New("compressed in none of the ways that are known: xz, zstd, gzip")
}
