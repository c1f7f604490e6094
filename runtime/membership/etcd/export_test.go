package etcd

import "github.com/schedgen/schedgen/runtime/membership"

// Decode reads a view.
var Decode = decode

// Die ends m like the death of its process: it tells no other member.
func (m *Manager) Die() {
	m.end(membership.ErrClosed)
	m.wg.Wait()
	m.cfg.Client.CloseIdleConnections()
}
