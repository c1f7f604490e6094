package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/sim"
)

// emitModel are the flags of formats that show one run: the ranks to draw, the length of the
// message and the lost multicasts.
type emitModel struct {
	Extract *emit.Extract `placeholder:"WHICH" help:"With svg and html: ranks to draw: ${extracts}; default auto."`

	Size *byteSize `placeholder:"SIZE" help:"With goal and chakra: bytes of the message, or for a file of MSCCL XML bytes of a chunk; default 64KiB."`
	Fold *perByte  `name:"fold" placeholder:"TIME" help:"With goal and chakra: time of a fold for each byte of each operand after the first; default 0.2ns."`
	Lost *lossFlag `placeholder:"LOSS" complete:"loss" help:"With goal and chakra: multicasts that are lost: none, all or SEED:RATE, such as 1:0.3; default none."`
}

// showsRun reports whether a format shows the messages of one run.
func showsRun(format string) bool { return format == "goal" || format == "chakra" }

// checkModel checks the flags against the format.
func (m *emitModel) checkModel(format string) error {
	const most = 1 << 46
	switch {
	case format != "svg" && format != "html" && m.Extract != nil:
		return fmt.Errorf("--extract: format %s does not use it", format)
	case !showsRun(format) && m.Size != nil:
		return fmt.Errorf("--size: format %s does not use it", format)
	case !showsRun(format) && m.Fold != nil:
		return fmt.Errorf("--fold: format %s does not use it", format)
	case !showsRun(format) && m.Lost != nil:
		return fmt.Errorf("--lost: format %s does not use it", format)
	case m.Size != nil && *m.Size > most:
		return fmt.Errorf("--size=%d: at most %d", int64(*m.Size), int64(most))
	}
	return nil
}

// model adds the model to the options.
func (m *emitModel) model(o emit.Options) emit.Options {
	o.Size = 64 << 10
	if m.Size != nil {
		o.Size = int(*m.Size)
	}
	o.Fold = int(sim.DefaultFold)
	if m.Fold != nil {
		o.Fold = int(*m.Fold)
	}
	if m.Extract != nil {
		o.Extract = *m.Extract
	}
	if m.Lost != nil {
		o.Lost = emit.Loss(*m.Lost)
	}
	return o
}

// modelWords spells the flags that were given.
func (m *emitModel) modelWords() []string {
	var words []string
	if m.Extract != nil {
		words = append(words, "--extract "+m.Extract.String())
	}
	if m.Size != nil {
		words = append(words, fmt.Sprintf("--size %d", int64(*m.Size)))
	}
	if m.Fold != nil {
		words = append(words, fmt.Sprintf("--fold %vns", sim.PerByte(*m.Fold)))
	}
	if m.Lost != nil {
		words = append(words, "--lost "+emit.Loss(*m.Lost).String())
	}
	return words
}

// lossFlag is a loss as the command line spells it.
type lossFlag emit.Loss

// UnmarshalText reads none, all or SEED:RATE.
func (l *lossFlag) UnmarshalText(text []byte) error {
	switch string(text) {
	case "none":
		*l = lossFlag{}
		return nil
	case "all":
		*l = lossFlag{Rate: 1}
		return nil
	}
	seed, rate, _ := strings.Cut(string(text), ":")
	n, err := strconv.ParseUint(seed, 10, 64)
	r, rateErr := strconv.ParseFloat(rate, 64)
	if err != nil || rateErr != nil || !(r >= 0 && r <= 1) {
		return fmt.Errorf("%q is not a loss: it must be none, all or SEED:RATE with a rate in 0..1, such as 1:0.3", text)
	}
	*l = lossFlag{Seed: n, Rate: r}
	return nil
}
