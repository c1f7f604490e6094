//go:build !linux

package unpack

import "os"

// reserve does nothing: these systems have no call that only reserves.
func reserve(*os.File, int64) error { return nil }
