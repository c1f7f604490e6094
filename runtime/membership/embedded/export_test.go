package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
)

// Die ends m like the death of its process: the others only see the ends of connections.
func (m *Manager) Die() { m.Close() }

// WithDial makes a member connect by dial.
func (cfg Config) WithDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) Config {
	cfg.dial = dial
	return cfg
}

// Decode reads data as the first request of a connection, and as an answer.
func Decode(data []byte) {
	q := new(request)
	if json.NewDecoder(bytes.NewReader(data)).Decode(q) == nil && q.check("g") == nil {
		m := &Manager{}
		if q.Base != nil {
			m.learn(*q.Base)
		}
		if q.Kind == kindAccept || q.Kind == kindPrepare {
			m.vote(q)
		}
	}
	mine, its := net.Pipe()
	go func() {
		its.Write(data)
		its.Close()
	}()
	defer mine.Close()
	newLine(mine).readResponse()
}
