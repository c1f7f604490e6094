//go:build linux

package netns

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// The commands ETHTOOL_S… of Linux that turn an offload on or off.
var offloads = map[string]uint32{"tso": 0x1f, "gso": 0x24, "gro": 0x2c}

const siocEthtool = 0x8946

// OffloadsOff makes dev send frames of the wire's size, so that a shaper counts the bytes that a
// real link would carry.
func OffloadsOff(dev string) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	for name, cmd := range offloads {
		value := struct{ cmd, on uint32 }{cmd: cmd}
		var request struct { // struct ifreq
			name [16]byte
			data unsafe.Pointer
			_    [16]byte
		}
		copy(request.name[:15], dev)
		request.data = unsafe.Pointer(&value)
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), siocEthtool, uintptr(unsafe.Pointer(&request))); errno != 0 {
			return fmt.Errorf("turn %s of %s off: %w", name, dev, errno)
		}
	}
	return nil
}
