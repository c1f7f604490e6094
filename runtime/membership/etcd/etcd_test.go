package etcd_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
	"github.com/schedgen/schedgen/runtime/membership/etcdtest"
	"github.com/schedgen/schedgen/runtime/membership/membershiptest"
)

// server is the suite's access to an etcd.
type server struct{ *etcdtest.Server }

func newServer(t *testing.T) *server { return &server{etcdtest.New(t)} }

// Stop kills etcd.
func (s *server) Stop(*testing.T) { s.Server.Kill() }

// Resume starts it again.
func (s *server) Resume(t *testing.T) { s.Start(t) }

func (s *server) Manager(t *testing.T) membership.Manager {
	m, err := etcd.New(etcd.Config{Endpoints: []string{s.URL()}, Prefix: strings.ReplaceAll(t.Name(), "/", "-"), TTL: 2 * time.Second})
	require.NoError(t, err)
	return m
}

func (s *server) Kill(_ *testing.T, m membership.Manager) { m.Close() }

func TestEtcd(t *testing.T) {
	defer goleak.VerifyNone(t)
	membershiptest.Run(t, func(t *testing.T) membershiptest.Group { return newServer(t) })
}

// A server that is stopped takes connections and answers nothing.
func TestSilentServer(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newServer(t)
	m := s.Manager(t)
	defer m.Close()
	v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	s.Signal(t, syscall.SIGSTOP)
	_, err = m.Watch(t.Context(), v.Epoch)
	require.ErrorIs(t, err, membership.ErrLost)
	require.ErrorIs(t, m.Report(t.Context(), v.Epoch), membership.ErrLost)
}

// Of several endpoints one that is dead, and one that is no etcd, keep nobody from joining.
func TestSeveralEndpoints(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newServer(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	m, err := etcd.New(etcd.Config{Endpoints: []string{"http://" + etcdtest.Free(t), other.URL, s.URL()}, Prefix: "g"})
	require.NoError(t, err)
	defer m.Close()
	v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	require.NoError(t, m.Report(t.Context(), v.Epoch))
	next, err := m.Watch(t.Context(), v.Epoch)
	require.NoError(t, err)
	require.Equal(t, v.Members, next.Members)
}

// What etcd, or who answers in its place, says is told.
func TestBadAnswers(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{404, "nobody", `404 Not Found: "nobody"`},
		{400, `{"error":"etcdserver: user name is empty"}`, "user name is empty"},
		{400, `{"message":"etcdserver: no leader"}`, "no leader"},
		{200, "{", "unexpected EOF"},
		{200, `{"ID":"x"}`, "invalid"},
		{200, `{"ID":"7","TTL":"5","header":{"revision":"1"},"kvs":[{"key":"Zy92aWV3","value":"e30="}]}`, "etcd key g/view: view without an epoch"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		}))
		m, err := etcd.New(etcd.Config{Endpoints: []string{s.URL}, Prefix: "g", TTL: time.Second})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = m.Join(ctx, membership.Member{ID: membership.NewID()})
		cancel()
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, m.Close())
		s.Close()
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []etcd.Config{
		{}, {Endpoints: []string{"http://a:1"}}, {Endpoints: []string{"http://a:1"}, Prefix: "g", TTL: time.Millisecond}, {Prefix: "g"},
	} {
		_, err := etcd.New(cfg)
		require.ErrorContains(t, err, "each is needed")
	}
}

// Many at once: each view follows exactly one.
func TestAllAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := newServer(t)
	const members = 12
	var wg sync.WaitGroup
	for range members {
		wg.Go(func() {
			m := s.Manager(t)
			defer m.Close()
			v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
			for err == nil && len(v.Members) < members {
				v, err = m.Watch(t.Context(), v.Epoch)
			}
			if err != nil || v.Epoch != members {
				t.Errorf("view %d: %v", v.Epoch, err)
			}
		})
	}
	wg.Wait()
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"epoch":1,"members":[{"id":"01000000000000000000000000000000","address":"a:1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v membership.View
		if etcd.Decode(data, &v) == nil && v.Epoch == 0 {
			t.Error("a view without an epoch")
		}
	})
}
