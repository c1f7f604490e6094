package launch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// meetOpenMPI takes mpirun's host, the only one whose address all ranks know, at a port that
// follows from the job's name. If mpirun starts ranks on its own host, as in a batch job, rank 0 is
// one of them unless a map says otherwise. If rank 0 is not there, it says at once what to do, and
// mpirun ends the others. More would need a client of PMIx, whose protocol is private to its
// library.
func meetOpenMPI(ctx context.Context, p *Position) (MeetingPoint, error) {
	job := p.getenv("PMIX_NAMESPACE")
	if job == "" {
		return MeetingPoint{}, fmt.Errorf("PMIX_NAMESPACE, the job's name, is empty; %s (mpirun -x SCHEDGEN_COORDINATOR=…)", advice)
	}
	if p.together() {
		return meetLocal(ctx, p, p.job("PMIX_NAMESPACE", "PMIX_SERVER_TMPDIR", "OMPI_MCA_ess_base_jobid"))
	}
	port := portOf(job)
	host, err := mpirunHost(p.getenv)
	if err == nil && p.Rank == 0 && !besideMpirun(p.getenv) {
		err = errors.New("rank 0 is on another host than mpirun")
	}
	if err != nil {
		return MeetingPoint{}, fmt.Errorf("%w, so that not all ranks can know where it is; start them by mpirun -x SCHEDGEN_COORDINATOR=%s", err, p.lineFor(port))
	}
	m, err := meetOn(ctx, p, host, port)
	m.Job = p.job("PMIX_NAMESPACE") // another job may use the same port
	return m, err
}

// lineFor returns the value that SCHEDGEN_COORDINATOR should have. Only rank 0 knows its host.
func (p *Position) lineFor(port int) string {
	host := "HOST"
	if p.Rank == 0 {
		host = p.getenv("PMIX_HOSTNAME")
		if name, err := os.Hostname(); host == "" && err == nil {
			host = name
		}
	}
	return host + ":" + strconv.Itoa(port)
}

// mpirunHost returns the host of mpirun: the comma-separated addresses of its interfaces, which
// Open MPI 4 and earlier give (OMPI_MCA_orte_hnp_uri), or its name, which is part of the name of a
// job of Open MPI 5.
func mpirunHost(getenv func(string) string) (string, error) {
	if uri := getenv("OMPI_MCA_orte_hnp_uri"); uri != "" {
		return hostsOf(uri)
	}
	job := getenv("PMIX_NAMESPACE")
	for _, prefix := range []string{"prterun-", "prte-"} { // HOST-PID@NUMBER follows
		host, found := strings.CutPrefix(job, prefix)
		host, number, whole := strings.Cut(host, "@")
		end := strings.LastIndexByte(host, '-')
		if found && whole && number != "" && end > 0 {
			return host[:end], nil
		}
	}
	return "", fmt.Errorf("OMPI_MCA_orte_hnp_uri is empty, and PMIX_NAMESPACE, %q, does not tell mpirun's host", job)
}

// hostsOf returns the addresses in a contact of ORTE such as
// 1577648128.0;tcp://192.0.2.2,10.0.0.2:40921;tcp6://[fd00::2]:33279.
func hostsOf(uri string) (string, error) {
	var hosts []string
	for _, part := range strings.Split(uri, ";")[1:] {
		_, at, _ := strings.Cut(part, "://")
		end := strings.LastIndexByte(at, ':')
		for host := range strings.SplitSeq(at[:max(end, 0)], ",") {
			ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
			if err != nil {
				return "", fmt.Errorf("OMPI_MCA_orte_hnp_uri is %q: %q is no address", uri, host)
			}
			hosts = append(hosts, ip.String())
		}
	}
	if len(hosts) == 0 {
		return "", fmt.Errorf("OMPI_MCA_orte_hnp_uri is %q, which has no address", uri)
	}
	return strings.Join(hosts, ","), nil
}

// servers are the variables with a contact of the process that has started this one:
// JOB.NUMBER;URI.
var servers = []string{"OMPI_MCA_orte_local_daemon_uri", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}

// besideMpirun reports whether mpirun itself, number 0, has started this process, and not its
// daemon on another host.
func besideMpirun(getenv func(string) string) bool {
	i := slices.IndexFunc(servers, func(name string) bool { return getenv(name) != "" })
	if i < 0 {
		return false
	}
	name, _, _ := strings.Cut(getenv(servers[i]), ";")
	return strings.HasSuffix(name, ".0")
}
