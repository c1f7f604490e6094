package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// meetSlurm takes the first host of the step, where srun starts task 0.
func meetSlurm(ctx context.Context, p *Position) (MeetingPoint, error) {
	step := p.job("SLURM_JOB_ID", "SLURM_STEP_ID")
	if p.together() {
		return meetLocal(ctx, p, step)
	}
	list := p.getenv("SLURM_STEP_NODELIST")
	if list == "" {
		list = p.getenv("SLURM_JOB_NODELIST")
	}
	host, err := firstHost(list)
	if err != nil {
		return MeetingPoint{}, fmt.Errorf("SLURM_STEP_NODELIST or SLURM_JOB_NODELIST: %w; %s", err, advice)
	}
	port, err := firstPort(p.getenv("SLURM_STEP_RESV_PORTS"))
	if err != nil {
		return MeetingPoint{}, fmt.Errorf("SLURM_STEP_RESV_PORTS: %w", err)
	}
	if port == 0 {
		port = portOf(step)
	}
	m, err := meetOn(ctx, p, host, port)
	m.Job = step // another step may use the same port
	return m, err
}

// firstHost returns the first host of a list in Slurm's format: comma-separated names, with sets of
// numbers in brackets, such as node[01-03,7],login2 or rack[1-2]-n[1-4].
func firstHost(list string) (string, error) {
	var host strings.Builder
	for rest := list; rest != "" && rest[0] != ','; {
		if rest[0] != '[' {
			end := strings.IndexAny(rest, "[],")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return "", fmt.Errorf("%q: ] without [", list)
			}
			host.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		set, after, closed := strings.Cut(rest[1:], "]")
		number := set[:min(len(set), strings.IndexAny(set+",", ",-"))]
		if !closed || number == "" || strings.Trim(number, "0123456789") != "" {
			return "", fmt.Errorf("%q: [%s is no set of numbers in brackets", list, set)
		}
		host.WriteString(number)
		rest = after
	}
	if host.Len() == 0 {
		return "", errors.New("no host")
	}
	return host.String(), nil
}

// firstPort returns the first port of a list such as 12000-12003, or 0 if list is empty.
func firstPort(list string) (int, error) {
	if list == "" {
		return 0, nil
	}
	first, _, _ := strings.Cut(list, ",")
	first, _, _ = strings.Cut(first, "-")
	port := portNumber(first)
	if port == 0 {
		return 0, fmt.Errorf("%q does not begin with a port", list)
	}
	return port, nil
}
