package main

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/launch"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// keyFlags are the flags that keep strangers out.
type keyFlags struct {
	KeyFile string `placeholder:"FILE" complete:"file" help:"File with the key of the job: ranks without it are kept out; default SCHEDGEN_KEY_FILE."`
	Encrypt bool   `help:"Encrypt what goes over the network; needs a key."`
}

// secret is what the ranks of a job have in common.
type secret struct {
	Key     []byte
	Encrypt bool
}

// secret returns what the flags say, else the environment; over memory there is none.
func (f *runFlags) secret(getenv func(string) string) (s secret, err error) {
	switch {
	case !f.memory():
		return f.keyFlags.secret(getenv)
	case f.KeyFile != "" || f.Encrypt:
		return s, fmt.Errorf("--key-file and --encrypt: over %s there is no network to keep strangers from", f.Transport)
	}
	return s, nil
}

// secret returns what the flags say, else the environment.
func (f *keyFlags) secret(getenv func(string) string) (s secret, err error) {
	if f.KeyFile == "" {
		if s.Key, s.Encrypt, err = launch.Key(getenv); err != nil {
			return s, err
		}
	} else if s.Key, err = tcp.ReadKey(f.KeyFile); err != nil {
		return s, fmt.Errorf("--key-file: %w", err)
	}
	if s.Encrypt = s.Encrypt || f.Encrypt; s.Encrypt && len(s.Key) == 0 {
		return s, errors.New("--encrypt: needs --key-file")
	}
	return s, nil
}

// words says it behind a transport's name.
func (s *secret) words() string {
	switch {
	case s.Encrypt:
		return ", with a key and encrypted"
	case len(s.Key) > 0:
		return ", with a key"
	}
	return ""
}
