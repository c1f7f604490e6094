package simnet

import "errors"

// ErrUnrepeatable is the failure of a scenario whose two runs differ.
var ErrUnrepeatable = errors.New("two runs of one scenario differ: something depends on more than its seed")

// Check runs a scenario twice and returns the result of the first run. If the second run differs,
// that is a violation too.
func Check(sc *Scenario) (*Result, error) { return check(sc, tamper{}) }

func check(sc *Scenario, t tamper) (*Result, error) {
	first, err := run(sc, nil, t)
	if err != nil {
		return nil, err
	}
	second, err := run(sc, nil, t)
	if err != nil {
		return nil, err
	}
	if first.Violation == nil && (second.Digest != first.Digest || second.Events != first.Events) {
		first.Violation = ErrUnrepeatable
	}
	return first, nil
}
