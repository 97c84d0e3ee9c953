// Package bench measures codemode: how long a cell takes to start, to suspend and to resume, how large a snapshot is,
// what a tool call costs, how all of it scales, and how it compares with other ways to run such cells.
//
//	result, err := bench.Run(ctx, bench.Options{Quick: true, Progress: os.Stderr})
//	if err != nil {
//		return err
//	}
//	bench.WriteTargets(os.Stdout, result)
//
// As a command it is Command, which `codemode bench` is made of.
//
// # Method
//
// A suite is a list of groups; the cases of a group are what is compared with one another. A group is measured in
// rounds. In each round every case runs once, as a batch of many operations, in an order that rotates from round to
// round, so that what else the machine does meets all cases alike. Two cases are compared round by round: the ratio of
// their medians in the same round, of which the median and a 95 % interval are reported. Before the first round every
// case is warmed up and its batch sized. A group ends when its time is used up, or when every interval is narrow.
//
// All times are wall-clock times in nanoseconds. A Host, its engine and its catalog are made before measuring, unless the case
// is about making them; every default limit is on unless the case's title says otherwise.
//
// # Peers
//
// Other engines run in processes of their own (folder peers/), are asked for one batch at a time over a pipe, and time
// themselves, so that the pipe is not measured. They are optional: a peer that is not installed is listed as skipped.
//
// Run may be called from one goroutine at a time, and nothing else should run in the process meanwhile.
package bench
