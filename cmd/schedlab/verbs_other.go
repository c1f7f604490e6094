//go:build !linux

package main

// linuxVerbs are the verbs that need Linux.
type linuxVerbs struct{}
