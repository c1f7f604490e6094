package selection

import (
	"context"

	"github.com/schedgen/schedgen/network"
)

// ForNetwork makes rules for ranks on a network: rank r is on node r. They choose schedules made for
// the network where these are much faster, and what base chooses elsewhere; nil stands for the
// built-in rules. Package synth sets it when a program imports it. In other programs it is nil, so
// that programs without networks do not carry what makes schedules for them.
var ForNetwork func(ctx context.Context, n *network.Network, base *Rules) (*Rules, error)
