// Package porttest keeps TCP ports for servers that a test starts and that must be told their port.
//
// A test that listens at port 0, closes the listener and passes the port on gives the port up for a
// moment, in which the system may give it to somebody else. A port that is held is never given up.
package porttest

import "testing"

// Hold returns a "host:port" of the loopback interface that belongs to the test until it ends. The
// system gives the port to nobody else, but lets a server listen there that asks for just this port
// and sets SO_REUSEADDR, as Go's net.Listen, etcd and sshd do, in this process or in another one.
// Systems other than Linux have no such sockets: there the test is skipped.
func Hold(t testing.TB) string {
	t.Helper()
	return hold(t)
}
