// Training fits a small neural network to data that are distributed over many ranks. Each rank
// computes the gradients of its own samples, from the last layer to the first. As soon as it has
// the gradient of a layer, StartAllreduce begins to add it up over all ranks, while the rank
// computes the gradients of the layers before.
//
// All ranks get the same bits, so their weights stay the same without ever being sent again. The
// program checks this at the end.
//
//	mpirun -n 4 ./training -steps 200
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen"
)

func main() {
	samples := flag.Int("samples", 2000, "number of samples at all ranks together")
	steps := flag.Int("steps", 200, "number of training steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *samples, *steps); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, samples, steps int) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	before, after, hash, err := train(ctx, comm, samples, steps)
	if err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d samples at %d ranks: loss %.4f before and %.4f after %d steps, weights %x at all ranks\n", samples, comm.Size(), before, after, steps, hash)
	}
	return nil
}

// train fits a network to the samples. This rank has every P-th sample. train returns the loss
// before and after, and the hash of the weights, which are the same at all ranks.
func train(ctx context.Context, comm *schedgen.Comm, samples, steps int) (before, after float64, hash uint64, err error) {
	net := newNetwork(2, 16, 16, 1)
	for _, l := range net.layers { // all ranks begin with rank 0's weights
		if err := schedgen.Bcast(ctx, comm, l.weights, 0); err != nil {
			return 0, 0, 0, err
		}
	}
	var own []sample
	for i := comm.Rank(); i < samples; i += comm.Size() {
		own = append(own, sampleAt(i))
	}
	for i := range steps {
		loss, err := net.step(ctx, comm, own, samples)
		if err != nil {
			return 0, 0, 0, err
		}
		if i == 0 {
			before = loss
		}
		after = loss
	}
	hash, err = net.sameEverywhere(ctx, comm)
	return before, after, hash, err
}

// sample is two inputs and the outputs that the network should have for them.
type sample struct{ in, want []float64 }

// sampleAt returns sample i of the data, which is the same in every run.
func sampleAt(i int) sample {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	x, y := 2*r.Float64()-1, 2*r.Float64()-1
	return sample{[]float64{x, y}, []float64{math.Sin(3*x) * y}}
}

// layer is a layer of neurons, one for each output. A neuron has a weight for every input, and a
// bias.
type layer struct {
	inputs, outputs int
	weights         []float64
	gradient        []float64 // derivative of the loss by each weight
	last            bool      // its outputs are sums, not their tanh
}

type network struct{ layers []*layer }

// newNetwork returns a network with random weights. widths are the number of its inputs and the
// number of outputs of each layer.
func newNetwork(widths ...int) *network {
	r := rand.New(rand.NewPCG(1, 2))
	net := &network{}
	for i, outputs := range widths[1:] {
		l := &layer{inputs: widths[i], outputs: outputs, last: i == len(widths)-2}
		l.weights = make([]float64, outputs*(l.inputs+1))
		l.gradient = make([]float64, len(l.weights))
		for j := range l.weights {
			l.weights[j] = r.NormFloat64() / math.Sqrt(float64(l.inputs))
		}
		net.layers = append(net.layers, l)
	}
	return net
}

// rate is the learning rate: a step moves the weights against the gradient by this factor.
const rate = 0.2

// step moves the weights once and returns the loss before: the mean squared error of the outputs,
// over all samples of all ranks.
func (net *network) step(ctx context.Context, comm *schedgen.Comm, own []sample, samples int) (float64, error) {
	// values[l] has the inputs of layer l for each sample of this rank.
	values := make([][][]float64, len(net.layers)+1)
	values[0] = make([][]float64, len(own))
	for i, s := range own {
		values[0][i] = s.in
	}
	for i, l := range net.layers {
		values[i+1] = l.forward(values[i])
	}

	loss := []float64{0}
	errs := values[len(net.layers)] // for each sample, the errors of the outputs of a layer
	for i, s := range own {
		for j := range s.want {
			errs[i][j] -= s.want[j]
			loss[0] += errs[i][j] * errs[i][j]
		}
	}
	requests := make([]*schedgen.Request, 0, len(net.layers)+1)
	start := func(buf []float64) error {
		r, err := schedgen.StartAllreduce(ctx, comm, buf, schedgen.Sum)
		if err == nil {
			requests = append(requests, r)
		}
		return err
	}
	if err := start(loss); err != nil {
		return 0, err
	}
	for i := len(net.layers) - 1; i >= 0; i-- {
		l := net.layers[i]
		l.gradients(values[i], errs)
		if err := start(l.gradient); err != nil { // comm uses the buffer until its request has ended
			return 0, err
		}
		if i > 0 { // compute while the Allreduce runs
			errs = l.backward(values[i], errs)
		}
	}

	for _, r := range requests {
		if err := r.Wait(ctx); err != nil {
			return 0, err
		}
	}
	for _, l := range net.layers {
		for j, g := range l.gradient {
			l.weights[j] -= rate * g / float64(samples)
		}
	}
	return loss[0] / float64(samples), nil
}

// forward returns the outputs of the layer for each sample.
func (l *layer) forward(inputs [][]float64) [][]float64 {
	all := make([][]float64, len(inputs))
	for i, in := range inputs {
		all[i] = make([]float64, l.outputs)
		for o := range all[i] {
			w := l.of(o)
			sum := w[l.inputs]
			for j, x := range in {
				sum += w[j] * x
			}
			if !l.last {
				sum = math.Tanh(sum)
			}
			all[i][o] = sum
		}
	}
	return all
}

// of returns the weights of a neuron.
func (l *layer) of(output int) []float64 { return l.weights[output*(l.inputs+1):][:l.inputs+1] }

// gradients adds up the gradients of all samples of this rank. errs are the errors of the sums,
// before tanh.
func (l *layer) gradients(inputs, errs [][]float64) {
	clear(l.gradient)
	for i, in := range inputs {
		for o, e := range errs[i] {
			g := l.gradient[o*(l.inputs+1):][:l.inputs+1]
			for j, x := range in {
				g[j] += e * x
			}
			g[l.inputs] += e
		}
	}
}

// backward returns the errors of the sums of the layer before, whose outputs are inputs.
func (l *layer) backward(inputs, errs [][]float64) [][]float64 {
	all := make([][]float64, len(inputs))
	for i, in := range inputs {
		all[i] = make([]float64, l.inputs)
		for o, e := range errs[i] {
			for j, w := range l.of(o)[:l.inputs] {
				all[i][j] += e * w
			}
		}
		for j, x := range in {
			all[i][j] *= 1 - x*x // the derivative of tanh at the point where tanh is x
		}
	}
	return all
}

// sameEverywhere returns a hash of the weights, and an error if ranks have different bits.
func (net *network) sameEverywhere(ctx context.Context, comm *schedgen.Comm) (uint64, error) {
	h := fnv.New64a()
	for _, l := range net.layers {
		if err := binary.Write(h, binary.LittleEndian, l.weights); err != nil {
			return 0, err
		}
	}
	least, greatest := []uint64{h.Sum64()}, []uint64{h.Sum64()}
	if err := schedgen.Allreduce(ctx, comm, least, schedgen.Min); err != nil {
		return 0, err
	}
	if err := schedgen.Allreduce(ctx, comm, greatest, schedgen.Max); err != nil {
		return 0, err
	}
	if least[0] != greatest[0] {
		return 0, fmt.Errorf("rank %d: weights differ at the ranks: their hashes are %x to %x", comm.Rank(), least[0], greatest[0])
	}
	return least[0], nil
}
