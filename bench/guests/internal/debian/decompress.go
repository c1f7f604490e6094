package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// compressions says by its first bytes how something is compressed, and which
// program of the host writes it out plainly.
var compressions = []struct {
	magic   string
	command []string
}{
	{"\xfd7zXZ\x00", []string{"xz", "-dc"}},
	{"\x28\xb5\x2f\xfd", []string{"zstd", "-dcq"}},
	{"\x1f\x8b", []string{"gzip", "-dc"}},
}

// decompress writes data out plainly to w.
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
