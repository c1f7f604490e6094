//go:build verbs && linux && cgo

package ibv

/*
#cgo LDFLAGS: -libverbs
#include <stdlib.h>
#include "ibv.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"github.com/schedgen/schedgen/internal/transport/rdma"
)

// Open opens a port. It calls layout with the port's address and creates what layout returns.
func Open(cfg Config, layout func(rdma.Address) rdma.Layout) (rdma.Adapter, error) {
	p, err := find(&cfg)
	if err != nil {
		return nil, err
	}
	if err := p.build(layout(p.Address())); err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", p.name, err), p.Close())
	}
	return p, nil
}

// find opens a port of this system.
func find(cfg *Config) (*port, error) {
	var n C.int
	list, err := C.ibv_get_device_list(&n)
	switch {
	case list == nil && err == syscall.ENOSYS: // the system has no such devices at all
		return nil, ErrNoDevice
	case list == nil:
		return nil, fmt.Errorf("list devices: %w", err)
	}
	defer C.ibv_free_device_list(list)
	if n == 0 {
		return nil, ErrNoDevice
	}
	return choose(unsafe.Slice(list, int(n)), cfg)
}

// choose opens the port that cfg names, or the first suitable port.
func choose(devices []*C.struct_ibv_device, cfg *Config) (*port, error) {
	var names []string
	var last error
	for _, d := range devices {
		name := C.GoString(C.ibv_get_device_name(d))
		names = append(names, name)
		if cfg.Device != "" && cfg.Device != name {
			continue
		}
		p, err := openPort(d, name, cfg)
		if err == nil {
			return p, nil
		}
		last = fmt.Errorf("device %s: %w", name, err)
	}
	if last == nil {
		last = fmt.Errorf("%w: %s, only %s", ErrDevice, cfg.Device, strings.Join(names, ", "))
	}
	return nil, last
}

func openPort(d *C.struct_ibv_device, name string, cfg *Config) (*port, error) {
	var want *C.union_ibv_gid
	if cfg.GID != ([16]byte{}) {
		want = (*C.union_ibv_gid)(unsafe.Pointer(&cfg.GID))
	}
	p := &port{name: name, c: (*C.struct_sg_port)(C.calloc(1, C.sizeof_struct_sg_port)), managed: cfg.Managed, joined: -1, further: map[int]int{}}
	if errno := C.sg_open(p.c, d, C.int(cfg.Port), want); errno != 0 {
		return nil, errors.Join(openError(syscall.Errno(errno), cfg.Port), p.Close())
	}
	return p, nil
}

// openError returns what an error number of the system means here.
func openError(errno syscall.Errno, number int) error {
	switch errno {
	case syscall.ENXIO:
		return fmt.Errorf("%w: %d", ErrPort, number)
	case syscall.ENETDOWN:
		return fmt.Errorf("port %d: %w", number, ErrInactive)
	case syscall.EADDRNOTAVAIL:
		return fmt.Errorf("port %d: %w", number, ErrAddress)
	}
	return fmt.Errorf("open port %d: %w", number, errno)
}

// Check opens the port that Open would open, and closes it.
func Check(cfg Config) error {
	p, err := find(&cfg)
	if err != nil {
		return err
	}
	return p.Close()
}
