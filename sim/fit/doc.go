// Package fit says what measured times tell of a machine: medians with confidence intervals, lines
// through them, where one line does not do, and the parameters of the models of package sim.
//
// Times are passed in, in nanoseconds. Nothing is drawn, so equal times give equal results. How
// they are measured, and what each quantity means for the runtime, docs/tuning.md says.
package fit

// Confidence is the probability with which an interval of this package holds what it is
// of, if samples do not depend on each other.
const Confidence = 0.95
