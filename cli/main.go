// Package cli is the command schedgen. A program that registers algorithms of its own by
// schedule.Register and then calls [Main] is the same command with these algorithms:
//
//	func main() {
//		if err := schedule.Register(mine); err != nil {
//			log.Fatal(err)
//		}
//		os.Exit(cli.Main(os.Args[1:]))
//	}
package cli

// Main runs the command line args, without the program's name, and returns the exit code: 0 if all
// is well, 1 if the answer is no (a schedule does not verify) or a run has failed, 2 on bad input
// (flags, names, files) and 130 if the command is interrupted. It reads standard input, prints
// results to standard output, and progress and errors to standard error. Verbs that start ranks run
// the program's own file again, so main must do nothing else before that hinders ranks.
func Main(args []string) int {
	return schedgen.Main(args)
}
