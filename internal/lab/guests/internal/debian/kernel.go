package debian

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// payload returns the compressed kernel within a bootable image, and its uncompressed length. See
// Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length. The build of the
// kernel writes the length after the compressed bytes.
func payload(image []byte) (compressed []byte, plain uint32, err error) {
	const header, sector = 0x250, 512
	if len(image) < header || !bytes.Equal(image[0x202:0x206], []byte("HdrS")) {
		return nil, 0, errors.New("no bootable image of a kernel")
	}
	if version := binary.LittleEndian.Uint16(image[0x206:]); version < 0x208 {
		return nil, 0, fmt.Errorf("boot protocol %#x does not say where the kernel lies in its image", version)
	}
	start := (uint64(image[0x1f1]) + 1) * sector
	start += uint64(binary.LittleEndian.Uint32(image[0x248:]))
	length := uint64(binary.LittleEndian.Uint32(image[0x24c:]))
	if length < 4 || start+length > uint64(len(image)) {
		return nil, 0, errors.New("the image ends before its kernel does")
	}
	p := image[start : start+length]
	end := len(p) - 4
	return p[:end], binary.LittleEndian.Uint32(p[end:]), nil
}

// vmlinux returns the kernel of a bootable image as an ELF file. qemu starts it directly, so that
// an emulated processor need not decompress it.
func vmlinux(ctx context.Context, image []byte) ([]byte, error) {
	compressed, length, err := payload(image)
	if err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	if err := decompress(ctx, compressed, &plain); err != nil {
		return nil, err
	}
	if plain.Len() != int(length) {
		return nil, fmt.Errorf("the kernel has %d bytes, its image says %d", plain.Len(), length)
	}
	return plain.Bytes(), nil
}
