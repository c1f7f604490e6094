package main

import (
	"github.com/schedgen/schedgen/internal/lab/cast"
	"github.com/schedgen/schedgen/internal/lab/exact"
	"github.com/schedgen/schedgen/internal/lab/guests"
	"github.com/schedgen/schedgen/internal/lab/kills"
	"github.com/schedgen/schedgen/internal/lab/links"
	"github.com/schedgen/schedgen/internal/lab/netns"
	"github.com/schedgen/schedgen/internal/lab/publish"
	"github.com/schedgen/schedgen/internal/lab/soak"
)

// linuxVerbs are the verbs that need namespaces, signals or files of Linux.
type linuxVerbs struct {
	Kills kills.Verb `cmd:"" group:"host" help:"Kill ranks, and check what the others notice."`

	Netns   netns.Verb   `cmd:"" group:"networks" help:"Run a command on hosts with links of chosen rates and losses."`
	Guests  guests.Verb  `cmd:"" group:"networks" help:"Run a command in virtual machines with RDMA in software."`
	Links   links.Verb   `cmd:"" group:"networks" help:"Measure collective operations on links, and predict their times."`
	Cast    cast.Verb    `cmd:"" group:"networks" help:"Measure a file to many hosts, beside other tools."`
	Publish publish.Verb `cmd:"" group:"networks" help:"Measure rootless messages: one rank of a job."`
	Exact   exact.Verb   `cmd:"" group:"networks" help:"Measure exact sums: one rank of a job."`

	KillsRank    kills.Rank    `cmd:"" hidden:"" name:"kills-rank"`
	SoakRank     soak.Rank     `cmd:"" hidden:"" name:"soak-rank"`
	NetnsBridge  netns.Bridge  `cmd:"" hidden:"" name:"netns-bridge"`
	NetnsHost    netns.Host    `cmd:"" hidden:"" name:"netns-host"`
	NetnsAgent   netns.Agent   `cmd:"" hidden:"" name:"netns-agent"`
	GuestsInside guests.Inside `cmd:"" hidden:"" name:"guests-inside"`
	LinksPredict links.Predict `cmd:"" hidden:"" name:"links-predict"`
	CastInside   cast.Inside   `cmd:"" hidden:"" name:"cast-inside"`
}
