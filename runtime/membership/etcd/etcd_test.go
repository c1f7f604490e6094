package etcd_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/test/etcdtest"
	"github.com/schedgen/schedgen/internal/test/membershiptest"
	"github.com/schedgen/schedgen/internal/test/porttest"
	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "16") // parallel tests mostly wait; -parallel overrides this
	goleak.VerifyTestMain(m)
}

// server is an etcd of this test.
type server struct {
	*etcdtest.Server
	time leap // of the managers
}

func newServer(t *testing.T) *server { return &server{Server: etcdtest.Start(t)} }

func (s *server) Manager(t *testing.T) membership.Manager {
	return s.manager(t, ttl, s.URL())
}

// Pass implements [membershiptest.Lapse].
func (s *server) Pass() { s.time.Pass(ttl) }

// ttl is so long that it does not end on a loaded machine. No test waits for it.
const ttl = time.Hour

func (s *server) manager(t *testing.T, ttl time.Duration, endpoints ...string) *etcd.Manager {
	m, err := etcd.New(etcd.Config{Endpoints: endpoints, Prefix: strings.ReplaceAll(t.Name(), "/", "-"), TTL: ttl, Clock: &s.time})
	require.NoError(t, err)
	return m
}

// leap is a clock that can be put forward. Pauses between attempts are short.
type leap struct {
	mu      sync.Mutex
	ahead   time.Duration
	timers  map[*leapTimer]bool // running timers
	awaited map[time.Duration]chan struct{}
}

type leapTimer struct {
	c  *leap
	at time.Time
	t  *time.Timer
}

// Begun returns a channel that tells of each timer that begins with d.
func (c *leap) Begun(d time.Duration) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := make(chan struct{}, 100)
	c.awaited = map[time.Duration]chan struct{}{d: begun}
	return begun
}

// Now returns the current time.
func (c *leap) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *leap) now() time.Time { return time.Now().Add(c.ahead) }

// AfterFunc calls f when d has passed.
func (c *leap) AfterFunc(d time.Duration, f func()) clock.Timer {
	if d == ttl/16 {
		d = 10 * time.Millisecond
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timers == nil {
		c.timers = map[*leapTimer]bool{}
	}
	t := &leapTimer{c: c, at: c.now().Add(d)}
	t.t = time.AfterFunc(d, func() {
		c.mu.Lock()
		delete(c.timers, t)
		c.mu.Unlock()
		f()
	})
	c.timers[t] = true
	if begun := c.awaited[d]; begun != nil {
		begun <- struct{}{}
	}
	return t
}

// Pass puts the clock forward.
func (c *leap) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	for t := range c.timers {
		if t.t.Stop() { // otherwise its function runs already
			t.t.Reset(t.at.Sub(c.now()))
		}
	}
}

func (t *leapTimer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	delete(t.c.timers, t)
	return t.t.Stop()
}

func (t *leapTimer) Reset(d time.Duration) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.at, t.c.timers[t] = t.c.now().Add(d), true
	return t.t.Reset(d)
}

// Kill gives the lease back, so that no member waits for its end; see TestLeaseEnds.
func (s *server) Kill(_ *testing.T, m membership.Manager) { m.Close() }

func TestEtcd(t *testing.T) {
	t.Parallel() // it waits
	membershiptest.Run(t, func(t *testing.T) membershiptest.Group { return newServer(t) })
}

// proxy returns a handler that passes requests on to s.
func (s *server) proxy(t *testing.T) http.Handler {
	target, err := url.Parse(s.URL())
	require.NoError(t, err)
	p := httputil.NewSingleHostReverseProxy(target)
	p.Transport = &http.Transport{DisableKeepAlives: true}
	return p
}

// A dead member is removed when its lease ends.
func TestLeaseEnds(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	stays, dies := s.manager(t, ttl, s.URL()), s.manager(t, 3*time.Second, s.URL())
	defer stays.Close()
	first, err := stays.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	v, err := dies.Join(t.Context(), membership.Member{ID: membership.NewID()})
	dies.Die()
	if err != nil { // on a slow machine the lease may have ended by now
		require.ErrorIs(t, err, membership.ErrLost)
		return
	}
	next, err := stays.Watch(t.Context(), v.Epoch)
	require.NoError(t, err)
	require.Equal(t, first.Members, next.Members)
}

// A server that answers, but gets no events, does not keep members from seeing them.
func TestWatchThatSaysNothing(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	forward := s.proxy(t)
	watches := make(chan struct{}, 1)
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v3/watch" {
			io.Copy(io.Discard, r.Body)
			select {
			case watches <- struct{}{}:
			default:
			}
			<-r.Context().Done()
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer deaf.Close()
	a, b := s.manager(t, ttl, deaf.URL), s.manager(t, ttl, s.URL())
	defer a.Close()
	defer b.Close()
	v, err := a.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	<-watches
	_, err = b.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	s.time.Pass(ttl / 2)
	next, err := a.Watch(t.Context(), v.Epoch)
	require.NoError(t, err)
	require.Len(t, next.Members, 2)
}

// An answer about another lease says neither that this lease lives nor that it has ended.
func TestAnswerAboutAnotherLease(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	const lease = 2*ttl + ttl/2 // no other timer takes a quarter of it
	forward := s.proxy(t)
	asked := make(chan struct{})
	var renewals atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v3/lease/grant":
			r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"TTL":"%d"}`, int(lease.Seconds()))))
			r.ContentLength = -1
		case "/v3/lease/keepalive":
			n := renewals.Add(1)
			if n <= 2 {
				asked <- struct{}{}
			}
			if n == 1 {
				fmt.Fprint(w, "{}")
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	defer other.Close()
	sleeps := s.time.Begun(lease / 4)
	m := s.manager(t, ttl, other.URL)
	defer m.Close()
	v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		_, err := m.Watch(ctx, v.Epoch)
		lost <- err
	}()
	await := func(happens <-chan struct{}) {
		select {
		case err := <-lost:
			require.NoError(t, err)
		case <-happens:
		}
	}
	for range 2 {
		await(sleeps)
		s.time.Pass(lease / 4)
		await(asked)
	}
	cancel()
	require.ErrorIs(t, <-lost, context.Canceled)
}

// A stopped server accepts connections and answers nothing.
func TestSilentServer(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	m := s.manager(t, ttl, s.URL())
	defer m.Close()
	v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	s.Freeze(t)
	s.Pass()
	_, err = m.Watch(t.Context(), v.Epoch)
	require.ErrorIs(t, err, membership.ErrLost)
	require.ErrorIs(t, m.Report(t.Context(), v.Epoch), membership.ErrLost)
}

// A dead endpoint, and an endpoint that is not an etcd, do not keep members from joining.
func TestSeveralEndpoints(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	m, err := etcd.New(etcd.Config{Endpoints: []string{"http://" + porttest.Hold(t), other.URL, s.URL()}, Prefix: "g", TTL: ttl, Clock: &s.time})
	require.NoError(t, err)
	defer m.Close()
	v, err := m.Join(t.Context(), membership.Member{ID: membership.NewID()})
	require.NoError(t, err)
	require.NoError(t, m.Report(t.Context(), v.Epoch))
	next, err := m.Watch(t.Context(), v.Epoch)
	require.NoError(t, err)
	require.Equal(t, v.Members, next.Members)
}

// The error contains the answer of etcd, or of a server in its place.
func TestBadAnswers(t *testing.T) {
	t.Parallel() // it waits
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{404, "nobody", `404 Not Found: "nobody"`},
		{400, `{"error":"etcdserver: user name is empty"}`, "user name is empty"},
		{400, `{"message":"etcdserver: no leader"}`, "no leader"},
		{200, "{", "unexpected EOF"},
		{200, `{"ID":"x"}`, "invalid"},
		{200, `{"ID":"7","TTL":"60","header":{"revision":"1"},"kvs":[{"key":"Zy92aWV3","value":"e30="}]}`, "etcd key g/view: view without an epoch"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) > 4 { // the first few answers have been read
				cancel()
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
		}))
		m, err := etcd.New(etcd.Config{Endpoints: []string{s.URL}, Prefix: "g", TTL: time.Minute, Clock: quick{}})
		require.NoError(t, err)
		_, err = m.Join(ctx, membership.Member{ID: membership.NewID()})
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, m.Close())
		s.Close()
	}
}

// quick is a clock with short pauses. It does not change the timer that ends a membership.
type quick struct{ clock.System }

func (q quick) AfterFunc(d time.Duration, f func()) clock.Timer {
	if d < 10*time.Second {
		d = time.Millisecond
	}
	return q.System.AfterFunc(d, f)
}

func TestConfig(t *testing.T) {
	for _, cfg := range []etcd.Config{
		{}, {Endpoints: []string{"http://a:1"}}, {Endpoints: []string{"http://a:1"}, Prefix: "g", TTL: time.Millisecond}, {Prefix: "g"},
	} {
		_, err := etcd.New(cfg)
		require.ErrorContains(t, err, "all are needed")
	}
}

// Many members join at once: exactly one view follows each view.
func TestAllAtOnce(t *testing.T) {
	t.Parallel() // it waits
	s := newServer(t)
	const members = 12
	var wg, closing sync.WaitGroup
	closing.Add(members)
	for range members {
		wg.Go(func() {
			m := s.Manager(t)
			defer m.Close()
			defer closing.Wait() // a closed member is no longer a member
			defer closing.Done()
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

// A member that waits for a missing etcd says which etcd, and why it does not answer.
func TestWaitingIsTold(t *testing.T) {
	t.Parallel()                       // it waits
	at := "http://" + porttest.Hold(t) // no server listens there
	var c clock.Manual
	var said membershiptest.Words
	m, err := etcd.New(etcd.Config{Endpoints: []string{at}, Prefix: "g", Clock: &c, Log: said.Log()})
	require.NoError(t, err)
	defer m.Close()
	said.Await(t, &c, m)
	require.Contains(t, said.String(), "waiting for etcd at "+at+": ")
	require.Contains(t, said.String(), "connection refused")
}
