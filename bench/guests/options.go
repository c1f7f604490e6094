//go:build linux

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the values of the flags.
type options struct {
	guests  int
	loss    float64
	seed    uint64
	mtu     int // MTU of eth0 in bytes
	memory  int // memory of each guest in MiB
	accel   string
	boot    time.Duration // longest time until commands start
	timeout time.Duration // longest time of the commands
	kills   []kill
	add     []string // files of the host to copy to the directory of the command
	out     string   // directory of the host for the files of commands; "": they are not kept
	cache   string
	kernel  string // package of the kernel
	console bool
	command []string
}

// kill says which guest to kill, and when.
type kill struct {
	guest int
	after time.Duration
	text  string // the time begins when the guest's command prints this text; "": when the commands start
}

func (k kill) String() string {
	if k.text == "" {
		return fmt.Sprintf("--kill=%d@%v", k.guest, k.after)
	}
	return fmt.Sprintf("--kill=%d@%v=%s", k.guest, k.after, k.text)
}

// queue is the number of frames that may wait in the switch for a guest. A broadcast of a few MiB
// fits, since a slow guest takes long for it.
const queue = 8192

func parse(args []string) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("guests", flag.ContinueOnError)
	f.IntVar(&o.guests, "guests", 3, "number of guests, 1 to 64")
	f.Float64Var(&o.loss, "loss", 0, "probability with which the switch drops a UDP frame to a guest; RDMA's frames are UDP, too")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the losses of --loss")
	f.IntVar(&o.mtu, "mtu", 1500, "MTU of eth0, 576 to 9000")
	f.IntVar(&o.memory, "memory", 512, "memory of each guest in MiB, 128 to 16384")
	f.StringVar(&o.accel, "accel", "auto", "how qemu runs guests: kvm, tcg (emulated), or auto: kvm if this machine has it")
	f.DurationVar(&o.boot, "boot", 3*time.Minute, "longest time until guests are up")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "longest time of the command")
	f.Func("kill", "kill a guest: `G@DURATION[=TEXT]` kills guest G this long after the commands have started or,\nwith TEXT, after its command has printed a line with TEXT; may be repeated", func(text string) error {
		k, err := parseKill(text)
		o.kills = append(o.kills, k)
		return err
	})
	f.Func("add", "`FILE` of the host to copy to a directory of the guests' PATH, with its libraries; may be repeated", func(file string) error {
		o.add = append(o.add, file)
		return nil
	})
	f.StringVar(&o.out, "out", "", "directory for the files that the command leaves in $OUT, below guestN/")
	f.StringVar(&o.cache, "cache", "", "directory for kernels and programs made from packages (default: schedgen/guests below the user's cache)")
	f.StringVar(&o.kernel, "kernel", "linux-image-amd64", "Debian package of the guests' kernel")
	f.BoolVar(&o.console, "console", false, "show the output of the guests' kernels")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.command = f.Args()
	return o, cmp.Or(o.check(), o.defaultCache())
}

func parseKill(text string) (kill, error) {
	guest, after, ok := strings.Cut(text, "@")
	if !ok {
		return kill{}, errors.New("must be G@DURATION or G@DURATION=TEXT, such as 2@1.5s")
	}
	after, line, ok := strings.Cut(after, "=")
	if ok && line == "" {
		return kill{}, errors.New("no text behind =")
	}
	g, err := strconv.Atoi(guest)
	if err != nil {
		return kill{}, fmt.Errorf("guest %q: must be a number", guest)
	}
	d, err := time.ParseDuration(after)
	if err != nil {
		return kill{}, err
	}
	return kill{g, d, line}, nil
}

func (o *options) check() error {
	for _, k := range o.kills {
		if k.guest < 0 || k.guest >= o.guests || k.after < 0 {
			return fmt.Errorf("%v: must be a guest in 0..%d and a time not below 0", k, o.guests-1)
		}
	}
	switch {
	case o.guests < 1 || o.guests > 64:
		return fmt.Errorf("--guests=%d: must be in 1..64", o.guests)
	case !(o.loss >= 0 && o.loss <= 1):
		return fmt.Errorf("--loss=%v: must be a probability, 0 to 1", o.loss)
	case o.mtu < 576 || o.mtu > 9000:
		return fmt.Errorf("--mtu=%d: must be in 576..9000", o.mtu)
	case o.memory < 128 || o.memory > 16384:
		return fmt.Errorf("--memory=%d: must be in 128..16384 (MiB)", o.memory)
	case !slices.Contains([]string{"auto", "kvm", "tcg"}, o.accel):
		return fmt.Errorf("--accel=%s: must be auto, kvm or tcg", o.accel)
	case o.boot <= 0:
		return fmt.Errorf("--boot=%v: must be above 0", o.boot)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout=%v: must be above 0", o.timeout)
	case o.kernel == "" || strings.HasPrefix(o.kernel, "-") || strings.Contains(o.kernel, "/"):
		return fmt.Errorf("--kernel=%q: must be the name of a package", o.kernel)
	case len(o.command) == 0:
		return errors.New("a command is needed, behind --")
	}
	return o.checkPrograms()
}

// checkPrograms returns an error if two files would have the same path in a guest.
func (o *options) checkPrograms() error {
	from := map[string]string{}
	for _, file := range o.programs() {
		at := guestProgram(file)
		if other, taken := from[at]; taken && other != file {
			return fmt.Errorf("%s and %s would both be %s", file, other, at)
		}
		from[at] = file
	}
	return nil
}

func (o *options) defaultCache() error {
	if o.cache != "" {
		return nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("%w; --cache names another directory", err)
	}
	o.cache = filepath.Join(dir, "schedgen", "guests")
	return nil
}
