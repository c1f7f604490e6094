package debian

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// bootable returns an image of a kernel as its build makes them.
func bootable(t require.TestingT, kernel []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write(kernel)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	const sectors, offset = 3, 100
	image := make([]byte, (sectors+1)*512+offset)
	image[0x1f1] = sectors
	copy(image[0x202:], "HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(image[0x248:], offset)
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(z.Len()+4))
	image = append(image, z.Bytes()...)
	image = binary.LittleEndian.AppendUint32(image, uint32(len(kernel)))
	return append(image, "a signature"...)
}

func TestKernelOfABootableImage(t *testing.T) {
	kernel := bytes.Repeat([]byte("kernel"), 1000)
	got, err := vmlinux(t.Context(), bootable(t, kernel))
	require.NoError(t, err)
	require.True(t, bytes.Equal(kernel, got))
}

func TestImagesWithoutAKernel(t *testing.T) {
	good := func() []byte { return bootable(t, []byte("kernel")) }
	with := func(at int, b ...byte) []byte {
		image := good()
		copy(image[at:], b)
		return image
	}
	for name, c := range map[string]struct {
		image []byte
		want  string
	}{
		"empty":         {nil, "no bootable image"},
		"no magic":      {with(0x202, 'X'), "no bootable image"},
		"old":           {with(0x206, 7), "boot protocol 0x207"},
		"cut":           {good()[:2170], "ends before its kernel"},
		"no length":     {with(0x24c, 0, 0), "ends before its kernel"},
		"offset beyond": {with(0x248, 0xff, 0xff, 0xff, 0xff), "ends before its kernel"},
		"unknown":       {with(4*512+100, 'X'), "none of the ways"},
		"damaged":       {with(4*512+110, 'X', 'X', 'X', 'X', 'X', 'X'), "gzip"},
	} {
		_, err := vmlinux(t.Context(), c.image)
		require.ErrorContains(t, err, c.want, name)
	}
	image := good()
	image[len(image)-len("a signature")-4]++
	_, err := vmlinux(t.Context(), image)
	require.ErrorContains(t, err, "has 6 bytes, its image says 7")
}

func TestPayloadOfAnyImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		image := bootable(t, []byte("kernel"))
		for range rapid.IntRange(0, 8).Draw(t, "changes") {
			image[rapid.IntRange(0x1f0, 0x250).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		image = image[:rapid.IntRange(0, len(image)).Draw(t, "length")]
		if p, _, err := payload(image); err == nil {
			require.LessOrEqual(t, len(p), len(image))
		}
	})
}
