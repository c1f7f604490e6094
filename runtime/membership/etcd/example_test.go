package etcd_test

import (
	"context"
	"fmt"
	"log"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/etcd"
)

func ExampleNew() {
	ctx := context.Background()
	m, err := etcd.New(etcd.Config{Endpoints: []string{"http://node9:2379"}, Prefix: "/groups/prices/"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	view, err := m.Join(ctx, membership.Member{ID: membership.NewID(), Address: "node1:7100"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(view.Members), "members")
}
