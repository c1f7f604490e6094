package etcd

import "github.com/schedgen/schedgen/runtime/membership"

// Decode reads a view.
var Decode = decode

// Die ends m as the death of its process does: nobody is told.
func (m *Manager) Die() {
	m.end(membership.ErrClosed)
	m.wg.Wait()
	m.cfg.Client.CloseIdleConnections()
}
