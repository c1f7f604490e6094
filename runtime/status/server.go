package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server serves a handler at an address.
type Server struct {
	server *http.Server
	h      http.Handler
	addr   net.Addr
	names  []string // names that a request may give for the host, besides addresses
	ended  chan error

	answering sync.RWMutex // held for reading while a request is being answered
	closed    bool         // guarded by answering
}

// The limits of a request: the server closes the connection of a slower client.
const (
	headTimeout  = 5 * time.Second
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = time.Minute
	maxHead      = 16 << 10 // bytes
)

// Serve serves h at addr until Close. addr is host:port, or :port or port for the loopback address;
// port 0 selects any free port. Errors name the address.
//
// A request must name the host as an address, as localhost, as the host name of the system, as addr
// does, or as one of names, without ports. The server refuses all other requests: otherwise a web
// page of a third party, whose name was made to resolve to this host, could read the status through
// the browser of a person here (DNS rebinding). So names must not have one that others control.
func Serve(ctx context.Context, addr string, h http.Handler, names ...string) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", Address(addr))
	if err != nil {
		return nil, fmt.Errorf("serve the status: %w", err)
	}
	s := &Server{addr: l.Addr(), h: h, ended: make(chan error, 1), names: append([]string{"localhost"}, names...)}
	if host, _, err := net.SplitHostPort(Address(addr)); err == nil {
		s.names = append(s.names, host)
	}
	if host, err := os.Hostname(); err == nil {
		s.names = append(s.names, host)
	}
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHead, ErrorLog: log.New(io.Discard, "", 0), // errors of single connections concern their clients only
	}
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

// Address completes an address without a host with the loopback address, so that the page is not
// visible to the network by accident.
func Address(addr string) string {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return addr
}

// Addr returns the address at which the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// isNamed reports whether a request may name host as its host, with or without a port.
func (s *Server) isNamed(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(s.names, func(name string) bool { return strings.EqualFold(name, host) })
}

// answer passes the request to the handler, unless the server is closed or the request names
// another host.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if !s.isNamed(r.Host) {
		http.Error(w, fmt.Sprintf("this is the status page at %v, and the request is for host %q: open it by its address, or allow the name", s.addr, r.Host), http.StatusMisdirectedRequest)
		return
	}
	s.answering.RLock()
	defer s.answering.RUnlock()
	if !s.closed {
		s.h.ServeHTTP(w, r)
	}
}

// Close closes the server and its connections, which cancels the contexts of the requests, and
// waits for the handlers to return. A handler must not call it.
func (s *Server) Close() error {
	err := s.server.Close()
	s.answering.Lock()
	s.closed = true
	s.answering.Unlock()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	s.ended <- http.ErrServerClosed // for another call of Close
	if err != nil {
		return fmt.Errorf("close the status at %v: %w", s.addr, err)
	}
	return nil
}
