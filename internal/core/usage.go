package core

// Usage says what a core keeps. Each amount has a limit.
type Usage struct {
	Early   int // signals of operations that this rank has not entered
	Calls   int // ranks that wait to hear that this rank has entered an operation
	Kept    int // bytes of messages of past operations
	Debtors int // ranks that are owed chunks, over all operations
	Mail    int // rootless messages that the process has not taken
	Open    int // questions without a result
	Tasks   int // questions that the process has not answered, and results that it has not learnt
}

// Usage returns what the core keeps now.
func (c *Core) Usage() Usage {
	u := Usage{Calls: len(c.ops.overlap.calls), Mail: c.Mail(), Open: c.surveys.waiting, Tasks: len(c.surveys.tasks)}
	for i := range c.ops.ring {
		u.Early += len(c.ops.earlies[i].list)
		o := &c.ops.ring[i]
		_, _, debtors := o.lost.Usage()
		u.Debtors += debtors
		if o.state == opReturned {
			u.Kept += len(o.memory.areas[areaOut].bytes) + len(o.memory.areas[areaIn].bytes)
		}
	}
	return u
}
