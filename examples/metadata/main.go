// Metadata is a service of many servers that know the same objects, for which rootless broadcasts
// were invented (Li, Koziol, Tang and Byna, Anycast: Rootless Broadcasting with MPI, 2018). Any
// server adds or changes objects at any time, and announces each change to all others. No server
// waits for the changes of others, and there is no coordinator. Any server may also ask all others
// for facts that only they know: here, the number of their open objects, and the bytes of these.
//
//	mpirun -n 8 ./metadata -objects 1000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"

	"github.com/schedgen/schedgen"
)

func main() {
	objects := flag.Int("objects", 100, "number of objects that each server adds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *objects); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, objects int) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	s, open, err := serve(ctx, comm, objects)
	if err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d servers know %d objects, %d of them are open with %d bytes\n", comm.Size(), len(s.objects), open[0], open[1])
	}
	return nil
}

// object holds the facts about an object that all servers know.
type object struct {
	Name    string
	Owner   int // the server that changes it
	Version int
	Bytes   int64
}

// server is one server.
type server struct {
	comm *schedgen.Comm

	mu      sync.Mutex
	objects map[string]object
	open    map[string]bool // its own objects that clients use now; other servers do not know this
}

// start makes a server that answers questions about the open objects. The numbers of all servers
// are added.
func start(ctx context.Context, comm *schedgen.Comm) (*server, error) {
	s := &server{comm: comm, objects: make(map[string]object), open: make(map[string]bool)}
	err := schedgen.Answer(comm, schedgen.Sum, func(schedgen.Message) []int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		count := []int64{0, 0}
		for name := range s.open {
			count[0]++
			count[1] += s.objects[name].Bytes
		}
		return count
	})
	if err != nil {
		return nil, err
	}
	return s, schedgen.Barrier(ctx, comm) // all servers answer now
}

// put adds or changes one of this server's objects, and announces the change.
func (s *server) put(ctx context.Context, name string, bytes int64) error {
	s.mu.Lock()
	o := object{name, s.comm.Rank(), s.objects[name].Version + 1, bytes}
	s.objects[name] = o
	s.mu.Unlock()
	msg, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return s.comm.Publish(ctx, msg)
}

// use marks one of this server's objects as open. It does not announce this.
func (s *server) use(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[name] = true
}

// follow applies the given number of changes of other servers. The changes of one server come in
// its order, so the last change of an object is the newest.
func (s *server) follow(ctx context.Context, changes int) error {
	for msg, err := range s.comm.Messages(ctx) {
		if err != nil {
			return err
		}
		var o object
		if err := json.Unmarshal(msg.Data, &o); err != nil {
			return err
		}
		s.mu.Lock()
		old := s.objects[o.Name]
		s.objects[o.Name] = o
		s.mu.Unlock()
		if o.Version != old.Version+1 || o.Owner != msg.Origin {
			return fmt.Errorf("version %d of %s comes after %d, from server %d", o.Version, o.Name, old.Version, msg.Origin)
		}
		if changes--; changes == 0 {
			break
		}
	}
	return nil
}

// serve runs a server that adds objects, changes each of them once, and opens some. When it knows
// the objects of all servers, it returns the number of open objects at all servers, and their
// bytes.
func serve(ctx context.Context, comm *schedgen.Comm, objects int) (*server, []int64, error) {
	s, err := start(ctx, comm)
	if err != nil {
		return nil, nil, err
	}
	followed := make(chan error, 1)
	go func() {
		var err error
		if changes := 2 * objects * (comm.Size() - 1); changes > 0 {
			err = s.follow(ctx, changes)
		}
		followed <- err
	}()
	for i := range 2 * objects {
		name := fmt.Sprintf("%d/%d", comm.Rank(), i%objects)
		if err := s.put(ctx, name, int64(1000+i)); err != nil {
			return nil, nil, err
		}
		if i%10 == 0 {
			s.use(name)
		}
	}
	if err := <-followed; err != nil {
		return nil, nil, err
	}
	open, err := schedgen.Ask[int64](ctx, comm, []byte("open"))
	return s, open, errors.Join(err, schedgen.Barrier(ctx, comm))
}
