package cli

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/meet/launch"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// keyFlags are the flags for authentication and encryption.
type keyFlags struct {
	KeyFile string `placeholder:"FILE" complete:"file" help:"File with the key of the job. Ranks without the key are kept out. Default SCHEDGEN_KEY_FILE."`
	Encrypt bool   `help:"Encrypt all network traffic; needs a key."`
}

// secret holds the key of a job.
type secret struct {
	Key     []byte
	Encrypt bool
}

// secret returns the key of the flags, or else the key of the environment. Over memory there is
// none.
func (f *runFlags) secret(getenv func(string) string) (s secret, err error) {
	switch {
	case !f.memory():
		return f.keyFlags.secret(getenv)
	case f.KeyFile != "" || f.Encrypt:
		return s, fmt.Errorf("--key-file and --encrypt: transport %s uses no network", f.Transport)
	}
	return s, nil
}

// secret returns the key of the flags, or else the key of the environment.
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

// keyOf returns the key of a link.
func keyOf(l *crew.Link) *secret { return &secret{l.Key, l.Encrypt} }

// suffix returns the text that follows the name of a transport.
func (s *secret) suffix() string {
	switch {
	case s.Encrypt:
		return ", with a key and encrypted"
	case len(s.Key) > 0:
		return ", with a key"
	}
	return ""
}
