// Package contact is the first contact of a guest with its host, which ranks that meet and the
// guests of a lobby share: how a process reaches an address that may become known late
// (network.go), how both sides prove the key (handshake.go), how a host limits the connections that
// have not said hello (strangers.go), and the texts of messages (text.go).
package contact
