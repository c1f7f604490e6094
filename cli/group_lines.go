package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/runtime/membership"
)

// viewLine is the line for a view that has begun.
type viewLine struct {
	View    uint32   `json:"view"`
	Members []string `json:"members"`
	Came    []string `json:"came,omitempty"`
	Left    []string `json:"left,omitempty"`
	Lost    []string `json:"lost,omitempty"`
}

func labels(all []membership.Member) (names []string) {
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

func (l *viewLine) text() string {
	text := fmt.Sprintf("view %d: %s", l.View, strings.Join(l.Members, " "))
	if len(l.Came) == len(l.Members) { // first view of this member
		return text
	}
	var news []string
	for _, n := range []struct {
		names []string
		what  string
	}{{l.Came, "came"}, {l.Left, "left"}, {l.Lost, "lost"}} {
		if len(n.names) > 0 {
			news = append(news, strings.Join(n.names, ", ")+" "+n.what)
		}
	}
	if len(news) == 0 {
		news = []string{"the same members"}
	}
	return text + " (" + strings.Join(news, "; ") + ")"
}

// summary is the last line that a member prints.
type summary interface {
	line
	common() *summaryLine
}

// summaryLine holds the fields of all summaries.
type summaryLine struct {
	Group   string  `json:"group"`
	Member  string  `json:"member"`
	Good    bool    `json:"good"`
	Seconds float64 `json:"seconds"`
	Views   uint64  `json:"views"`
	Wrong   int     `json:"wrong"`
	First   string  `json:"first_wrong,omitempty"`
}

func (s *summaryLine) common() *summaryLine { return s }

// end sets the fields that are known when the membership has ended.
func (s *summaryLine) end(m *member, err error) {
	s.Group, s.Member = m.flags.Name, m.group.Self().Name
	s.Good = err == nil && s.Wrong == 0
	s.Seconds = time.Since(m.began).Seconds()
	s.Views = m.group.Stats().Views
}

func (s *summaryLine) text() string {
	how := "left"
	if !s.Good {
		how = "was in"
	}
	return fmt.Sprintf("%s %s %s after %s and %s", s.Member, how, s.Group, spellSeconds(s.Seconds), command.Count(int(s.Views), "view"))
}

// bcastLine is the line for a broadcast that all members have.
type bcastLine struct {
	Number  uint64 `json:"broadcast"`
	Members int    `json:"ranks"`
	Bytes   int    `json:"bytes"`
}

func (l *bcastLine) text() string {
	return fmt.Sprintf("broadcast %d: %v at %s", l.Number, byteSize(l.Bytes), command.Count(l.Members, "member"))
}

// seriesSummary is the summary of a membership with broadcasts.
type seriesSummary struct {
	summaryLine
	Broadcasts int         `json:"broadcasts"`
	Led        int         `json:"led"`     // as the root
	CutOff     int         `json:"cut_off"` // broken off by changes
	Last       uint64      `json:"last,omitempty"`
	Times      *timeObject `json:"times,omitempty"` // of the broadcasts led, until all members had them
}

func (s *series) summary() *seriesSummary {
	out := &seriesSummary{Broadcasts: s.done, Led: s.led, CutOff: s.cut, Last: s.have}
	out.Wrong, out.First = s.wrong.Count, s.wrong.First
	if s.led > 0 {
		out.Times = newTimeObject(s.times)
	}
	return out
}

func (s *seriesSummary) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", s.summaryLine.text(), command.Count(s.Broadcasts, "broadcast"))
	if s.Times != nil {
		fmt.Fprintf(&b, ", %d of its own, which all members had after %s (median)", s.Led, spellSeconds(s.Times.Median))
	}
	if s.CutOff > 0 {
		fmt.Fprintf(&b, "; %d cut off by changes", s.CutOff)
	}
	if s.Wrong > 0 {
		fmt.Fprintf(&b, "; WRONG %d times", s.Wrong)
	}
	return b.String()
}
