//go:build !linux

package unpack

import "os"

// reserve does nothing, because these systems have no call that only reserves.
func reserve(*os.File, int64) error { return nil }

// punch makes no holes on these systems.
func punch(*os.File, int64, int64) bool { return false }

// begin does nothing, because these systems begin by themselves.
func begin(*os.File, int64, int64) {}
