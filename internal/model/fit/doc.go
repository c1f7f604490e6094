// Package fit derives properties of a machine from measured times: medians with confidence
// intervals, lines through them, the lengths where one line does not fit, and the parameters of the
// models of package sim.
//
// Callers pass times in nanoseconds. Nothing is random, so equal times give equal results. Two ranks
// measure four times of a message of m bytes ([Samples], [Quantities]); one of them reads its clock:
//
//	one way, t(m)     half the time from its call until a reply of the same length has arrived
//	sender, o_s(m)    the time of its call when no other message is under way
//	receiver, o_r(m)  the time of its call that takes the reply, made when the reply has arrived: two
//	                  round trips and 100 µs later
//	gap, g(m)         (PRTT(n, 0, m) - PRTT(1, 0, m)) / (n-1), where PRTT(n, 0, m) is the time of
//	                  n = Burst messages without a pause and a reply
//
// The parameters of the models follow from lines by weighted least squares ([NewMachine]):
//
//	o        the mean of the lines through o_s(m) and o_r(m), at one byte
//	O        the slope of the line through o_s(m)
//	g, G     the line through g(m), at one byte, and its slope
//	L        t(m) less o_s and o_r, at one byte, for short messages; 0 where both ends work at the
//	         same time
//	t0, t_d  the line through t(m) (paper 004, equation 1)
package fit

// Confidence is the probability that an interval of this package contains the true value, if
// samples are independent.
const Confidence = 0.95
