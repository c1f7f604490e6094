package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership"
)

func someone(n int) membership.Member {
	return membership.Member{ID: membership.ID{1, byte(n), byte(n >> 8)}, Name: fmt.Sprint("m", n)}
}

// TestNumbersThatAreDue checks that the numbers of an elder member's messages may begin anywhere,
// and that the numbers of any other member's messages must begin with 0.
func TestNumbersThatAreDue(t *testing.T) {
	var r roster
	self, elder, late, stranger := someone(0), someone(1), someone(2), someone(3)
	r.note(group.Change{View: membership.View{Epoch: 7, Members: []membership.Member{elder, self}}, Came: []membership.Member{elder, self}})
	r.note(group.Change{View: membership.View{Epoch: 8, Members: []membership.Member{elder, self, late}}, Came: []membership.Member{late}})
	for _, c := range []struct {
		from      membership.Member
		seq, want uint64
		name      string
	}{
		{elder, 5, 5, "m1"}, {elder, 6, 6, "m1"}, {elder, 8, 7, "m1"}, {elder, 8, 9, "m1"}, {late, 1, 0, "m2"}, {late, 2, 2, "m2"}, {stranger, 0, 0, "01030000"},
	} {
		p, want := r.hear(&group.Message{Origin: c.from.ID, Seq: c.seq})
		require.Equal(t, c.want, want, "%+v", c)
		require.Equal(t, c.name, p.name)
	}
}

// TestRosterIsBounded checks that the list does not grow without bound as members come and go.
func TestRosterIsBounded(t *testing.T) {
	var r roster
	self := someone(0)
	view := membership.View{Epoch: 1, Members: []membership.Member{self}}
	r.note(group.Change{View: view, Came: view.Members})
	const guests = maxPeers + 100
	for n := 1; n <= guests; n++ {
		guest := someone(n)
		view = membership.View{Epoch: view.Epoch + 1, Members: []membership.Member{self, guest}}
		r.note(group.Change{View: view, Came: view.Members[1:]})
		r.hear(&group.Message{Origin: guest.ID})
	}
	require.Len(t, r.peers, maxPeers)
	require.Equal(t, self.ID, r.peers[0].id)
	require.Equal(t, 101, r.earlier)
}
