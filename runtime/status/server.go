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

// Server is a handler at an address.
type Server struct {
	server *http.Server
	h      http.Handler
	addr   net.Addr
	names  []string // that requests may give for the host, beside addresses
	ended  chan error

	answering sync.RWMutex // held for reading while a request is answered
	closed    bool         // guarded by answering
}

// The bounds of a request: who is slower is let go.
const (
	headTimeout  = 5 * time.Second
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = time.Minute
	maxHead      = 16 << 10 // bytes
)

// Serve serves h at addr until Close: host:port, or :port or port of the loopback address;
// port 0 is any that is free. An error names the address.
//
// A request must name the host by an address, as localhost, by the system's host name, or as addr
// does. Others are refused: a web page of somebody else, whose name was made to stand for this host,
// could otherwise read the status through the browser of a person here (DNS rebinding). A proxy that
// makes the page known by another name must send the address as Host.
func Serve(ctx context.Context, addr string, h http.Handler) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", Address(addr))
	if err != nil {
		return nil, fmt.Errorf("serve the status: %w", err)
	}
	s := &Server{addr: l.Addr(), h: h, ended: make(chan error, 1), names: []string{"localhost"}}
	if host, _, err := net.SplitHostPort(Address(addr)); err == nil {
		s.names = append(s.names, host)
	}
	if host, err := os.Hostname(); err == nil {
		s.names = append(s.names, host)
	}
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHead, ErrorLog: log.New(io.Discard, "", 0), // of single connections, which are their clients' affair
	}
	go func() { s.ended <- s.server.Serve(l) }()
	return s, nil
}

// Address completes an address that has no host: it is the loopback's then, so that nobody
// on the network sees the page who was not meant to.
func Address(addr string) string {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return addr
}

// Addr returns where it listens.
func (s *Server) Addr() net.Addr { return s.addr }

// isNamed reports whether a request may give host, with or without a port, as its host.
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

// answer has h answer, unless the server is closed or the request was sent to another host's name.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if !s.isNamed(r.Host) {
		http.Error(w, fmt.Sprintf("this is the status page at %v, and the request is for host %q: open it by its address", s.addr, r.Host), http.StatusMisdirectedRequest)
		return
	}
	s.answering.RLock()
	defer s.answering.RUnlock()
	if !s.closed {
		s.h.ServeHTTP(w, r)
	}
}

// Close ends the server, its connections and with them the contexts of what is asked, and
// waits for the answers to end. It must not be called by what answers.
func (s *Server) Close() error {
	err := s.server.Close()
	s.answering.Lock()
	s.closed = true
	s.answering.Unlock()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	s.ended <- http.ErrServerClosed // Close may be called again
	if err != nil {
		return fmt.Errorf("close the status at %v: %w", s.addr, err)
	}
	return nil
}
