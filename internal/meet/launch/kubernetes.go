package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// meetKubernetes finds the meeting point of the pods of an indexed job. The job's template has put
// the pods below a headless service, so that pod number i of job J has the name J-i.SERVICE, and
// has set SCHEDGEN_COORDINATOR to J-0.SERVICE:PORT. A pod has its own addresses, so the port is
// free, and no pod reaches another pod's loopback interface.
func meetKubernetes(ctx context.Context, p *Position) (m MeetingPoint, err error) {
	m.Coordinator, m.Apart = p.getenv("SCHEDGEN_COORDINATOR"), true
	if m.Coordinator == "" {
		return m, errors.New("set SCHEDGEN_COORDINATOR to JOB-0.SERVICE:PORT, the first pod's name below the job's headless service and a port")
	}
	host, port, _ := net.SplitHostPort(m.Coordinator) // checkCoordinator has accepted it
	if p.Rank > 0 {
		return m, nil
	}
	// If the coordinator is an address, listen there. Otherwise listen at all addresses: the pod's
	// name may become known late, and the addresses are the pod's alone.
	at := ":" + port
	if _, err := netip.ParseAddr(host); err == nil {
		at = m.Coordinator
	}
	var lc net.ListenConfig
	if m.Listener, err = lc.Listen(ctx, "tcp", at); err != nil {
		return m, fmt.Errorf("SCHEDGEN_COORDINATOR is %q: wait at its port: %w", m.Coordinator, err)
	}
	return m, nil
}
