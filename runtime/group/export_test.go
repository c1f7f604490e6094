package group

import (
	"context"
	"errors"
)

// Die ends g as the death of its process does, as far as that goes in one process: its
// connections end without a word to the other members.
func Die(g *Group) {
	g.mu.Lock()
	e := g.era
	g.mu.Unlock()
	g.cfg.Manager.Close()
	g.fail(errors.New("dead"))
	e.comm.Close()
	e.work.Close()
	<-g.over
}

// Renew asks for another view of the same members.
func Renew(ctx context.Context, g *Group) error {
	return g.cfg.Manager.Report(ctx, g.View().Epoch)
}
