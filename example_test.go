package schedgen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// run runs f as every rank of a communicator in memory. A program calls Init instead.
func run(size int, f func(ctx context.Context, comm *schedgen.Comm) error) {
	if err := local.Run(context.Background(), size, f); err != nil {
		log.Fatal(err)
	}
}

func ExampleInit() {
	ctx := context.Background()
	comm, err := schedgen.Init(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	fmt.Printf("rank %d of %d\n", comm.Rank(), comm.Size()) // no launcher has started this program
	if err := schedgen.Barrier(ctx, comm); err != nil {
		log.Fatal(err)
	}
	// Output: rank 0 of 1
}

func ExampleJoin() {
	ctx := context.Background()
	comm, err := schedgen.Join(ctx, schedgen.Config{
		Algorithms: map[string]schedgen.Algorithm{"bcast": {Name: "bcast/binomial"}},
		Silence:    10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	fmt.Printf("rank %d of %d\n", comm.Rank(), comm.Size()) // no launcher has started this program
	// Output: rank 0 of 1
}

func ExampleBcast() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		params := make([]float64, 3)
		if comm.Rank() == 2 {
			params = []float64{0.5, 1, 2}
		}
		if err := schedgen.Bcast(ctx, comm, params, 2); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println("rank 0 has", params)
		}
		return nil
	})
	// Output: rank 0 has [0.5 1 2]
}

func ExampleBcastBytes() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		var msg []byte
		for i := range 3 {
			if comm.Rank() == 0 {
				msg = fmt.Append(nil, "line ", i*i*i)
			}
			var err error
			// the next turn uses the memory of msg again
			if msg, err = schedgen.BcastBytes(ctx, comm, msg, 0); err != nil {
				return err
			}
			if comm.Rank() == 2 {
				fmt.Printf("rank 2 has %q\n", msg)
			}
		}
		return nil
	})
	// Output:
	// rank 2 has "line 0"
	// rank 2 has "line 1"
	// rank 2 has "line 8"
}

func ExampleGatherBytes() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		names := []string{"ann", "", "constantine"}
		all, err := schedgen.GatherBytes(ctx, comm, []byte(names[comm.Rank()]), 0)
		if err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Printf("%q\n", all)
		}
		return nil
	})
	// Output: ["ann" "" "constantine"]
}

func ExampleAllgatherBytes() {
	type state struct { // no element: it has a map
		Host string
		Load map[string]float64
	}
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		own, err := json.Marshal(state{fmt.Sprint("node", comm.Rank()), map[string]float64{"cpu": float64(comm.Rank()) / 4}})
		if err != nil {
			return err
		}
		all, err := schedgen.AllgatherBytes(ctx, comm, own)
		if err != nil {
			return err
		}
		states := make([]state, len(all))
		for rank, text := range all {
			if err := json.Unmarshal(text, &states[rank]); err != nil {
				return err
			}
		}
		if comm.Rank() == 1 {
			fmt.Println(states)
		}
		return nil
	})
	// Output: [{node0 map[cpu:0]} {node1 map[cpu:0.25]} {node2 map[cpu:0.5]}]
}

func ExampleAlltoallBytes() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		letters := make([][]byte, comm.Size()) // by receiver; nothing for most
		if comm.Rank() == 0 {
			letters[2] = []byte("a letter of rank 0")
		}
		got, err := schedgen.AlltoallBytes(ctx, comm, letters)
		if err != nil {
			return err
		}
		if comm.Rank() == 2 {
			fmt.Printf("%q\n", got)
		}
		return nil
	})
	// Output: ["a letter of rank 0" "" ""]
}

func ExampleScatterBytes() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		var tasks [][]byte
		if comm.Rank() == 0 {
			tasks = [][]byte{[]byte("rest"), []byte("read the file"), []byte("listen")}
		}
		task, err := schedgen.ScatterBytes(ctx, comm, tasks, 0)
		if err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Printf("%s\n", task)
		}
		return nil
	})
	// Output: read the file
}

func ExampleScatter() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		var work []int // only the root has it
		if comm.Rank() == 0 {
			work = []int{10, 11, 20, 21, 30, 31}
		}
		mine := make([]int, 2)
		if err := schedgen.Scatter(ctx, comm, mine, work, 0); err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Println("rank 1 works on", mine)
		}
		return nil
	})
	// Output: rank 1 works on [20 21]
}

// Elements may be structs.
func ExampleGather() {
	type result struct {
		Rank  int32
		Score float64
	}
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		var all []result
		if comm.Rank() == 0 {
			all = make([]result, comm.Size())
		}
		mine := []result{{int32(comm.Rank()), 1 / float64(comm.Rank()+1)}}
		if err := schedgen.Gather(ctx, comm, all, mine, 0); err != nil {
			return err
		}
		for _, r := range all { // all is empty except at rank 0
			fmt.Printf("rank %d: %.2f\n", r.Rank, r.Score)
		}
		return nil
	})
	// Output:
	// rank 0: 1.00
	// rank 1: 0.50
	// rank 2: 0.33
}

// A rank's block may already lie in its place.
func ExampleAllgather() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		all := make([]int, comm.Size())
		all[comm.Rank()] = 100 + comm.Rank()
		if err := schedgen.Allgather(ctx, comm, all, all[comm.Rank():][:1]); err != nil {
			return err
		}
		if comm.Rank() == 3 {
			fmt.Println("rank 3 has", all)
		}
		return nil
	})
	// Output: rank 3 has [100 101 102 103]
}

// Each rank has found another number of results. If the root does not know the numbers, it gathers
// them first.
func ExampleGatherv() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		found := make([]int, comm.Rank()+1)
		for i := range found {
			found[i] = 10*comm.Rank() + i
		}
		var counts, all []int
		if comm.Rank() == 0 {
			counts = make([]int, comm.Size())
		}
		if err := schedgen.Gather(ctx, comm, counts, []int{len(found)}, 0); err != nil {
			return err
		}
		for _, n := range counts {
			all = append(all, make([]int, n)...)
		}
		if err := schedgen.Gatherv(ctx, comm, all, counts, found, 0); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println(counts, all)
		}
		return nil
	})
	// Output: [1 2 3] [0 10 11 20 21 22]
}

func ExampleAlltoall() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		src, dst := make([]pair, 3), make([]pair, 3)
		for to := range src {
			copy(src[to][:], fmt.Sprintf("%d→%d", comm.Rank(), to))
		}
		if err := schedgen.Alltoall(ctx, comm, dst, src); err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Printf("rank 1 has %s\n", dst)
		}
		return nil
	})
	// Output: rank 1 has [0→1 1→1 2→1]
}

// pair holds words such as 0→1: strings have pointers, arrays of bytes have none.
type pair [5]byte

// Every rank has found a part of the sum.
func ExampleAllreduce() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		sums := []float64{float64(comm.Rank()), 0.5}
		if err := schedgen.Allreduce(ctx, comm, sums, schedgen.Sum); err != nil {
			return err
		}
		if comm.Rank() == 3 {
			fmt.Println("rank 3 has", sums)
		}
		return nil
	})
	// Output: rank 3 has [6 2]
}

// The sum of all ranks' numbers is rounded once. If every addition rounded, the sum would be 0.
func ExampleExactSum() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		x := [][]float64{{1e100, 0.5}, {}, {1, 1e-30, -1e100}}[comm.Rank()]
		sum, err := schedgen.ExactSum(ctx, comm, x)
		if err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Println("rank 1 has", sum)
		}
		return nil
	})
	// Output: rank 1 has 1.5
}

func ExampleExactDot() {
	run(2, func(ctx context.Context, comm *schedgen.Comm) error {
		x := [][]float64{{1 + 0x1p-52, 1}, {2}}[comm.Rank()]
		y := [][]float64{{1 - 0x1p-52, 1}, {-1}}[comm.Rank()]
		dot, err := schedgen.ExactDot(ctx, comm, x, y) // (1 - 2^-104) + 1 - 2
		if err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println("rank 0 has", dot == -0x1p-104)
		}
		return nil
	})
	// Output: rank 0 has true
}

// Several exact sums travel in one call, here to rank 0 alone.
func ExampleExact() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		masses, heights := []float64{0.1, 0.2}, []float64{10, float64(comm.Rank())}
		sums := make([]schedgen.Exact, 2)
		sums[0].Add(masses...)
		sums[1].AddProducts(masses, heights)
		if err := schedgen.Reduce(ctx, comm, sums, schedgen.Sum, 0); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println("mass", sums[0].Float64(), "moment", sums[1].Float64())
		}
		return nil
	})
	// Output: mass 1.2000000000000002 moment 5.2
}

// The ranks ask which of them has the least value. If several have it, the first is the answer.
func ExampleLoc() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		cost := []float64{7, 2.5, 9, 2.5}[comm.Rank()]
		best := []schedgen.Loc[float64]{{Value: cost, Index: int64(comm.Rank())}}
		if err := schedgen.Allreduce(ctx, comm, best, schedgen.MinLoc); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Printf("rank %d has the least, %v\n", best[0].Index, best[0].Value)
		}
		return nil
	})
	// Output: rank 1 has the least, 2.5
}

// Functions x → Factor·x + Summand are composed in the order of the ranks. Composition does not
// commute.
func ExampleFunc() {
	type step struct{ Factor, Summand float64 }
	compose := schedgen.Func("compose", false, func(dst, src []step) {
		for i, second := range src {
			first := dst[i]
			dst[i] = step{first.Factor * second.Factor, first.Summand*second.Factor + second.Summand}
		}
	})
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		all := []step{{2, float64(comm.Rank())}} // rank 0 doubles, rank 1 doubles and adds 1, …
		if err := schedgen.Allreduce(ctx, comm, all, compose); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println("all steps make 10 to", all[0].Factor*10+all[0].Summand) // ((10·2)·2 + 1)·2 + 2
		}
		return nil
	})
	// Output: all steps make 10 to 84
}

// Ranks write their records into one file, one rank after the other. Each rank needs to know the
// place of its own records: after those of the ranks before.
func ExampleScan() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		records := []int{10, 0, 5, 7}[comm.Rank()]
		end := []int{records}
		if err := schedgen.Scan(ctx, comm, end, schedgen.Sum); err != nil {
			return err
		}
		if comm.Rank() == 2 {
			fmt.Printf("rank 2 writes records %d to %d\n", end[0]-records, end[0]-1)
		}
		return nil
	})
	// Output: rank 2 writes records 10 to 14
}

func ExampleReduceScatter() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		src := []int{1, 2, 10, 20, 100, 200} // a block of two for each rank
		mine := make([]int, 2)
		if err := schedgen.ReduceScatter(ctx, comm, mine, src, schedgen.Sum); err != nil {
			return err
		}
		if comm.Rank() == 1 {
			fmt.Println("rank 1 has", mine)
		}
		return nil
	})
	// Output: rank 1 has [30 60]
}

func ExampleStartAllgather() {
	run(2, func(ctx context.Context, comm *schedgen.Comm) error {
		squares, cubes := make([]int, 2), make([]int, 2)
		n := comm.Rank() + 2
		first, err := schedgen.StartAllgather(ctx, comm, squares, []int{n * n})
		if err != nil {
			return err
		}
		second, err := schedgen.StartAllgather(ctx, comm, cubes, []int{n * n * n})
		if err != nil {
			return err
		}
		// The rank computes meanwhile.
		if err := errors.Join(second.Wait(ctx), first.Wait(ctx)); err != nil {
			return err
		}
		if comm.Rank() == 0 {
			fmt.Println(squares, cubes)
		}
		return nil
	})
	// Output: [4 9] [8 27]
}

// The ranks search the largest change of each step. The call is prepared once.
func ExamplePrepareAllreduce() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		change := make([]float64, 1)
		largest, err := schedgen.PrepareAllreduce(ctx, comm, change, schedgen.Max)
		if err != nil {
			return err
		}
		for step := 1; ; step++ {
			change[0] = float64(comm.Rank()+1) / float64(step*step)
			if err := largest.Start(ctx); err != nil {
				return err
			}
			// The rank computes meanwhile.
			if err := largest.Wait(ctx); err != nil {
				return err
			}
			if change[0] > 0.1 {
				continue
			}
			if comm.Rank() == 0 {
				fmt.Printf("%d steps, then the largest change is %.2f\n", step, change[0])
			}
			return nil
		}
	})
	// Output: 6 steps, then the largest change is 0.08
}

// Each rank says whether it is ready to commit. The second call of Agree fixes the result of the
// first one at all ranks. Without it, a rank could commit and die, and the others could abort.
func ExampleComm_Agree() {
	const ready = 1
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		agreed, gone, err := comm.Agree(ctx, ready)
		if err != nil {
			return err
		}
		if _, _, err := comm.Agree(ctx, 0); err != nil {
			return err
		}
		if commit := agreed&ready != 0 && len(gone) == 0; commit && comm.Rank() == 0 {
			fmt.Println("commit")
		}
		return nil
	})
	// Output: commit
}

func ExampleComm_Shrink() {
	run(4, func(ctx context.Context, comm *schedgen.Comm) error {
		if comm.Rank() == 1 {
			return local.ErrDeath
		}
		sum := []int{1}
		err := schedgen.Allreduce(ctx, comm, sum, schedgen.Sum)
		var lost *schedgen.LostError
		if !errors.As(err, &lost) {
			return err
		}
		next, err := comm.Shrink(ctx)
		if err != nil {
			return err
		}
		defer next.Close()
		sum = []int{1} // a call that has failed leaves anything
		if err := schedgen.Allreduce(ctx, next, sum, schedgen.Sum); err != nil {
			return err
		}
		if next.Rank() == 0 {
			fmt.Println("without ranks", lost.Ranks, "the sum is", sum[0])
		}
		return nil
	})
	// Output: without ranks [1] the sum is 3
}

func ExampleMajority() {
	r := local.Ranks{Size: 5, Config: schedgen.Config{Quorum: schedgen.Majority}}
	err := r.Run(context.Background(), func(ctx context.Context, comm *schedgen.Comm) error {
		if comm.Rank() > 1 {
			return local.ErrDeath
		}
		if err := schedgen.Barrier(ctx, comm); !errors.Is(err, schedgen.ErrPeerLost) {
			return err
		}
		_, err := comm.Shrink(ctx)
		if errors.Is(err, schedgen.ErrQuorum) && comm.Rank() == 0 {
			fmt.Println(err)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: shrink: rank 0, epoch 1: too few ranks are left: 2 of 5, which were ranks [0 1] at first
}

func ExampleComm_Publish() {
	run(3, func(ctx context.Context, comm *schedgen.Comm) error {
		if comm.Rank() == 1 { // any rank, at any time
			if err := comm.Publish(ctx, []byte("the state has changed")); err != nil {
				return err
			}
			return schedgen.Barrier(ctx, comm)
		}
		msg, err := comm.Next(ctx)
		if err != nil {
			return err
		}
		if comm.Rank() == 2 {
			fmt.Printf("rank %d says: %s\n", msg.Origin, msg.Data)
		}
		return schedgen.Barrier(ctx, comm)
	})
	// Output: rank 1 says: the state has changed
}

func ExampleComm_Split() {
	run(5, func(ctx context.Context, comm *schedgen.Comm) error {
		half, err := comm.Split(ctx, comm.Rank()%2, -comm.Rank()) // the highest rank becomes rank 0
		if err != nil {
			return err
		}
		defer half.Close()
		members := make([]int, half.Size())
		if err := schedgen.Allgather(ctx, half, members, []int{comm.Rank()}); err != nil {
			return err
		}
		if comm.Rank() == 2 {
			fmt.Printf("rank 2 is rank %d of %v\n", half.Rank(), members)
		}
		return schedgen.Barrier(ctx, half)
	})
	// Output: rank 2 is rank 1 of [4 2 0]
}

// To wait for a limited time, give the short context only to Wait.
func ExampleRequest_Wait() {
	run(2, func(ctx context.Context, comm *schedgen.Comm) error {
		if comm.Rank() == 1 {
			if _, err := comm.Next(ctx); err != nil { // rank 1 comes late
				return err
			}
			return schedgen.Barrier(ctx, comm)
		}
		request, err := schedgen.StartBarrier(ctx, comm)
		if err != nil {
			return err
		}
		short, cancel := context.WithCancel(ctx)
		cancel() // its time is over
		fmt.Println("waiting has ended:", errors.Is(request.Wait(short), context.Canceled))
		if err := comm.Publish(ctx, []byte("go on")); err != nil {
			return err
		}
		fmt.Println("barrier:", request.Wait(ctx))
		return nil
	})
	// Output:
	// waiting has ended: true
	// barrier: <nil>
}

// Ranks vote on a proposal of one of them, and find the rank with the least load. No rank calls
// anything for that: each answers when a question comes.
func ExampleAsk() {
	run(5, func(ctx context.Context, comm *schedgen.Comm) error {
		load := 10 + (comm.Rank()+2)%5
		err := schedgen.Answer(comm, schedgen.MinLoc, func(question schedgen.Message) []schedgen.Loc[int64] {
			return []schedgen.Loc[int64]{{Value: int64(load), Index: int64(comm.Rank())}}
		})
		if err != nil {
			return err
		}
		votes, err := comm.Dup(ctx)
		if err != nil {
			return err
		}
		err = schedgen.Answer(votes, schedgen.And, func(question schedgen.Message) []bool {
			return []bool{string(question.Data) == "stop" && load > 3}
		})
		if err != nil {
			return err
		}
		if err := schedgen.Barrier(ctx, comm); err != nil { // all ranks answer now
			return err
		}
		if comm.Rank() == 4 {
			least, err := schedgen.Ask[schedgen.Loc[int64]](ctx, comm, []byte("who is idle?"))
			if err != nil {
				return err
			}
			all, err := schedgen.Ask[bool](ctx, votes, []byte("stop"))
			if err != nil {
				return err
			}
			fmt.Println("rank", least[0].Index, "has load", least[0].Value, "and all agree:", all[0])
		}
		return errors.Join(schedgen.Barrier(ctx, comm), votes.Close())
	})
	// Output: rank 3 has load 10 and all agree: true
}
