package emit

// Unfit is the error of a format that cannot express a schedule.
type Unfit struct {
	Reason string // in words of the schedule
}

// Error returns the reason.
func (u *Unfit) Error() string { return "the format cannot express it: " + u.Reason }
