package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
)

// groupAnycastCmd is the verb group anycast.
type groupAnycastCmd struct {
	Messages *int     `placeholder:"N" help:"Publish N messages and take leave; 0: only receive; without it all goes on until it is interrupted."`
	Size     byteSize `default:"1KiB" placeholder:"N" help:"Bytes of a message of this member's, default 1KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	groupFlags
}

// Help is the long help text.
func (groupAnycastCmd) Help() string {
	return `Joins a group, and publishes messages to its members while it receives theirs. Every message must
come once, unchanged and in its origin's order, whoever comes, leaves or dies meanwhile; else the
exit code is 1.

` + groupHelp() + `Examples, in several terminals:

  schedgen group anycast prices \
    --manager embedded://127.0.0.1:7100,127.0.0.1:7101
  schedgen group anycast prices --interface eth0 \
    --manager embedded://10.77.0.1:7100,10.77.0.2:7100
  schedgen group anycast prices --manager etcd://127.0.0.1:2379 --label ann`
}

// maxGroupMessage is the largest message of a member, the default of package runtime.
const maxGroupMessage = 1 << 20

// Run joins, publishes and receives.
func (c *groupAnycastCmd) Run(ctx context.Context, std terminal.Stdio) error {
	switch {
	case c.Messages != nil && *c.Messages < 0:
		return fmt.Errorf("--messages=%d: must not be negative", *c.Messages)
	case c.Size > maxGroupMessage:
		return fmt.Errorf("--size=%v: at most %v", c.Size, byteSize(maxGroupMessage))
	}
	m, err := c.join(ctx, "anycast", std)
	if err != nil {
		return err
	}
	in := &inbox{member: m, text: newGroupText()}
	var receiving sync.WaitGroup
	receiving.Go(in.receive)
	sent, err := c.publish(ctx, m)
	return m.finish(ctx, err, func() summary {
		receiving.Wait()
		return in.summary(sent)
	})
}

// publish publishes the messages of this member, and returns their number.
func (c *groupAnycastCmd) publish(ctx context.Context, m *member) (sent int, err error) {
	if err := m.gather(ctx); err != nil {
		return 0, err
	}
	if c.Messages != nil && *c.Messages == 0 {
		_, err := m.group.Await(ctx, math.MaxUint32) // there is no such view
		return 0, err
	}
	text, self := newGroupText(), m.group.Self().ID
	for c.Messages == nil || sent < *c.Messages {
		if err := m.group.Publish(ctx, text.make(self, uint64(sent), int(c.Size))); err != nil {
			return sent, err
		}
		sent++
		if err := m.rest(ctx); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// inbox checks the messages of the others.
type inbox struct {
	member   *member
	text     *groupText
	wrong    crew.Findings
	received int
}

// receive takes messages until the membership ends.
func (in *inbox) receive() {
	for msg, err := range in.member.group.Messages(context.Background()) {
		if err == nil {
			in.take(&msg)
		}
	}
}

func (in *inbox) take(msg *group.Message) {
	in.received++
	p, want := in.member.roster.hear(msg)
	switch {
	case msg.Seq != want:
		in.wrong.Add(fmt.Sprintf("message %d of %s in place of %d", msg.Seq, p.name, want))
	case !bytes.Equal(msg.Data, in.text.make(msg.Origin, msg.Seq, len(msg.Data))):
		in.wrong.Add(fmt.Sprintf("message %d of %s is not what was published", msg.Seq, p.name))
	}
	if in.member.flags.Verbose {
		in.member.print(&messageLine{p.name, msg.Seq, msg.Epoch, len(msg.Data)})
	}
}

// messageLine tells of a message.
type messageLine struct {
	From   string `json:"from"`
	Number uint64 `json:"number"`
	View   uint32 `json:"in_view"`
	Bytes  int    `json:"bytes"`
}

func (l *messageLine) text() string {
	return fmt.Sprintf("%s: message %d, %v", l.From, l.Number, byteSize(l.Bytes))
}

// castSummary sums up a membership with messages.
type castSummary struct {
	summaryLine
	Sent      int         `json:"sent"`
	Received  int         `json:"received"`
	Recovered uint64      `json:"recovered"` // received after a death, by another tree than the origin's
	Origins   []heardFrom `json:"origins,omitempty"`
	Earlier   int         `json:"earlier,omitempty"` // received from members that have gone so long ago that they are not listed
}

// heardFrom counts the messages from a member, numbers first to last.
type heardFrom struct {
	Member   string `json:"member"`
	Messages int    `json:"messages"`
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
}

func (in *inbox) summary(sent int) *castSummary {
	s := &castSummary{Sent: sent, Received: in.received, Recovered: in.member.group.Stats().Recovered}
	s.Wrong, s.First = in.wrong.Count, in.wrong.First
	r := &in.member.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Earlier = r.earlier
	for _, p := range r.peers {
		if p.heard > 0 {
			s.Origins = append(s.Origins, heardFrom{p.name, p.heard, p.first, p.next - 1})
		}
	}
	return s
}

func (s *castSummary) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	for i, o := range s.Origins {
		if i == 0 {
			fmt.Fprintln(w, "member\tmessages\tfirst\tlast\t")
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", o.Member, o.Messages, o.First, o.Last)
	}
	w.Flush() // to memory
	fmt.Fprintf(&b, "%s: published %d, received %d", s.summaryLine.text(), s.Sent, s.Received)
	if s.Earlier > 0 {
		fmt.Fprintf(&b, ", %d of members that have gone long ago", s.Earlier)
	}
	switch {
	case s.Wrong > 0:
		fmt.Fprintf(&b, ", WRONG %d times", s.Wrong)
	case s.Received > 0:
		b.WriteString(", each once, unchanged and in its origin's order")
	}
	return b.String()
}

// groupText makes messages up of the origin and the number.
type groupText struct{ crew.Generator }

func newGroupText() *groupText { return &groupText{crew.NewGenerator()} }

// make returns a message of the given number of bytes. It is valid until the next call.
func (t *groupText) make(origin membership.ID, number uint64, size int) []byte {
	return t.Generator.Make(size, binary.LittleEndian.Uint64(origin[:]), binary.LittleEndian.Uint64(origin[8:]), number)
}
