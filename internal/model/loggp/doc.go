// Package loggp computes how long a schedule takes in the LogGP model of Alexandrov, Ionescu,
// Schauser and Scheiman (1995). Every rank enters at time 0, and nothing is lost. Package sim
// describes the model and runs it. This package is for callers that compare whole schedules, with
// parameters in whole nanoseconds. Repairs do not run, and neither do rules that wait for them.
package loggp
