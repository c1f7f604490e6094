// Package porttest keeps TCP ports for servers that a test starts and that must be told their port.
//
// A test can listen at port 0, close the listener and pass the port on. But then the port is free
// for a moment, in which the system may give it to another process. A held port is never free.
package porttest

import "testing"

// Hold returns a "host:port" of the loopback interface that belongs to the test until it ends. The
// system gives the port to no other socket. But a server of any process may listen there if it asks
// for just this port and sets SO_REUSEADDR, as Go's net.Listen, etcd and sshd do. Systems other
// than Linux have no such sockets: Hold skips the test there.
func Hold(t testing.TB) string {
	t.Helper()
	return hold(t)
}
