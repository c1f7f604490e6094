package membership_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/membership"
)

func id(n byte) membership.ID { return membership.ID{n} }

func view(epoch uint32, ids ...byte) membership.View {
	v := membership.View{Epoch: epoch, Members: []membership.Member{}}
	for _, n := range ids {
		v.Members = append(v.Members, membership.Member{ID: id(n), Name: fmt.Sprint(n)})
	}
	return v
}

func TestChanges(t *testing.T) {
	was := view(7, 1, 2, 3)
	for _, c := range []struct {
		name   string
		change membership.Change
		want   membership.View
	}{
		{"join", membership.Joined(membership.Member{ID: id(4), Name: "4"}), view(8, 1, 2, 3, 4)},
		{"join again", membership.Joined(membership.Member{ID: id(2)}), was},
		{"leave", membership.Without(id(2)), view(8, 1, 3)},
		{"leave, all", membership.Without(id(3), id(1), id(2)), view(8)},
		{"leave, none", membership.Without(id(9)), was},
		{"report", membership.Reported(id(1), 7, []membership.ID{id(2), id(9)}), view(8, 1, 3)},
		{"report of a view that is past", membership.Reported(id(1), 6, []membership.ID{id(2)}), view(8, 1, 3)},
		{"report without anybody", membership.Reported(id(1), 7, nil), view(8, 1, 2, 3)},
		{"report without anybody, of a view that is past", membership.Reported(id(1), 6, nil), was},
		{"report of who is gone", membership.Reported(id(1), 6, []membership.ID{id(9)}), was},
		{"report by a stranger", membership.Reported(id(9), 7, []membership.ID{id(2)}), was},
	} {
		before := view(7, 1, 2, 3)
		got, err := c.change(before)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, was, before, "%s: what it is made of is not changed", c.name)
	}
}

func TestChangesThatCannotBe(t *testing.T) {
	_, err := membership.Without(id(1))(view(math.MaxUint32, 1, 2))
	require.ErrorContains(t, err, "no further epoch is left")
	full := membership.View{Epoch: 1}
	for range membership.MaxMembers {
		full.Members = append(full.Members, membership.Member{ID: membership.NewID()})
	}
	require.NoError(t, full.Check())
	_, err = membership.Joined(membership.Member{ID: id(1)})(full)
	require.ErrorIs(t, err, membership.ErrFull)
	full.Members = append(full.Members, membership.Member{ID: id(1)})
	require.ErrorContains(t, full.Check(), "4097 members")
}

func TestBadViews(t *testing.T) {
	for want, v := range map[string]membership.View{
		"without an epoch": view(0, 1), "twice": view(1, 1, 2, 1), "no identity": view(1, 0),
		"256 bytes":      {Epoch: 1, Members: []membership.Member{{ID: id(1), Address: strings.Repeat("x", 256)}}},
		"no valid UTF-8": {Epoch: 1, Members: []membership.Member{{ID: id(1), Manager: "a\xff"}}},
	} {
		require.ErrorContains(t, v.Check(), want)
	}
}

// A valid member is the same after it was written and read, so that no process can join as a member
// that others cannot read.
func TestMembersSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 260).Draw(t, "bytes")) })
		m := membership.Member{ID: membership.NewID(), Name: rapid.OneOf(text, rapid.String()).Draw(t, "name"), Address: text.Draw(t, "address")}
		if m.Check() != nil {
			return
		}
		b, err := json.Marshal(m)
		require.NoError(t, err)
		var again membership.Member
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, m, again)
	})
}

func TestBadIdentities(t *testing.T) {
	var got membership.ID
	for _, text := range []string{"", "0102", strings.Repeat("x", 32), strings.Repeat("0", 33)} {
		require.Error(t, got.UnmarshalText([]byte(text)), text)
	}
}

func TestDigest(t *testing.T) {
	all := []membership.View{view(1, 1, 2), view(2, 1, 2), view(1, 2, 1), view(1, 1), view(1)}
	for i, v := range all {
		require.Equal(t, v.Digest(), view(v.Epoch, ids(v)...).Digest())
		require.False(t, slices.ContainsFunc(all[:i], func(other membership.View) bool { return other.Digest() == v.Digest() }))
	}
}

func ids(v membership.View) (all []byte) {
	for _, m := range v.Members {
		all = append(all, m.ID[0])
	}
	return all
}
