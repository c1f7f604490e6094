// Package fit derives properties of a machine from measured times: medians with confidence
// intervals, lines through them, the lengths where one line does not fit, and the parameters of the
// models of package sim.
//
// Callers pass times in nanoseconds. Nothing is random, so equal times give equal results.
// docs/tuning.md says how times are measured and what each quantity means for the runtime.
package fit

// Confidence is the probability that an interval of this package contains the true value, if
// samples are independent.
const Confidence = 0.95
