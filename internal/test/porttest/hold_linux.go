package porttest

import (
	"fmt"
	"syscall"
	"testing"
)

// hold binds a socket that never listens. Linux lets another socket bind to the same address while
// both have SO_REUSEADDR and neither listens. It never chooses such a port by itself.
func hold(t testing.TB) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("hold a port: %v", err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatalf("hold a port: %v", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatalf("hold a port: %v", err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatalf("hold a port: %v", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}
