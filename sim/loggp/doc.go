// Package loggp computes how long a schedule takes in the LogGP model of Alexandrov, Ionescu,
// Schauser and Scheiman (1995). Every rank enters at time 0, and nothing is lost. It is package sim
// with whole schedules and four whole numbers, or eight, for callers that compare schedules.
// Package sim describes the model. Repairs do not run, and neither do rules that wait for them.
package loggp
