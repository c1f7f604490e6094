package launch

import (
	"context"
	"fmt"
)

// meetTorch takes the variables of torchrun. If torchrun's agent runs a store, MASTER_PORT is in
// use: the store listens there as long as the job lives.
func meetTorch(ctx context.Context, p *Position) (MeetingPoint, error) {
	job := p.job("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
	host := p.getenv("MASTER_ADDR")
	switch {
	case host == "":
		return MeetingPoint{}, fmt.Errorf("MASTER_ADDR is empty; %s", advice)
	case p.together():
		return meetLocal(ctx, p, job)
	case p.getenv("TORCHELASTIC_USE_AGENT_STORE") == "True":
		return p.meetAt(host, portOf(job)), nil
	}
	port := portNumber(p.getenv("MASTER_PORT"))
	if port == 0 {
		return MeetingPoint{}, fmt.Errorf("MASTER_PORT is %q, want a port; %s", p.getenv("MASTER_PORT"), advice)
	}
	return p.meetAt(host, port), nil
}
