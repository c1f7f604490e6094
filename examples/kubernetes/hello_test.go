// Package kubernetes holds the manifests of a job and of a group, and tests them.
package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// manifest holds the fields of objects that the tests read.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		Selector                 yaml.Node
		CompletionMode           string `yaml:"completionMode"`
		Completions, Parallelism int
		Replicas                 int
		ServiceName              string `yaml:"serviceName"`
		PodManagementPolicy      string `yaml:"podManagementPolicy"`
		Template                 struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Subdomain     string
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []struct {
					Command []string
					Env     []struct {
						Name, Value string
						ValueFrom   *struct {
							FieldRef struct {
								FieldPath string `yaml:"fieldPath"`
							} `yaml:"fieldRef"`
						} `yaml:"valueFrom"`
					}
				}
			}
		}
	}
}

// read returns the service and the object of another kind in a file.
func read(t *testing.T, name, kind string) (service, other manifest) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	found := map[string]manifest{}
	for dec := yaml.NewDecoder(f); ; {
		var m manifest
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found[m.Kind] = m
	}
	require.Len(t, found, 2)
	return found["Service"], found[kind]
}

// environ returns the environment that Kubernetes gives to the pod with the given index.
func environ(t *testing.T, job *manifest, index int) (env []string) {
	for _, e := range job.Spec.Template.Spec.Containers[0].Env {
		value := e.Value
		if e.ValueFrom != nil {
			require.Equal(t, "metadata.labels['batch.kubernetes.io/controller-uid']", e.ValueFrom.FieldRef.FieldPath)
			value = "5b0c1d6e-0000-4000-8000-000000000001"
		}
		env = append(env, e.Name+"="+value)
	}
	i := strconv.Itoa(index)
	return append(env, "JOB_COMPLETION_INDEX="+i, "HOSTNAME="+job.Metadata.Name+"-"+i)
}

// TestManifest checks that the parts of the manifest which depend on each other agree.
func TestManifest(t *testing.T) {
	service, job := read(t, "hello.yaml", "Job")
	require.Equal(t, "None", service.Spec.ClusterIP)
	require.True(t, service.Spec.PublishNotReadyAddresses)
	require.Equal(t, map[string]string{"batch.kubernetes.io/job-name": job.Metadata.Name}, labels(t, &service.Spec.Selector))
	require.Equal(t, "Indexed", job.Spec.CompletionMode)
	require.Equal(t, job.Spec.Completions, job.Spec.Parallelism)
	require.Equal(t, service.Metadata.Name, job.Spec.Template.Spec.Subdomain)
	require.Contains(t, environ(t, &job, 0), "SCHEDGEN_SIZE="+strconv.Itoa(job.Spec.Completions))
	require.Contains(t, environ(t, &job, 0), fmt.Sprintf("SCHEDGEN_COORDINATOR=%s-0.%s:7777", job.Metadata.Name, service.Metadata.Name))
}

// labels returns the labels of a selector.
func labels(t *testing.T, selector *yaml.Node) (all map[string]string) {
	require.NoError(t, selector.Decode(&all))
	return all
}

// TestGroup checks that the parts of the manifest of a group agree: the pods are the service's, and
// the names at which members look for each other are those of the pods.
func TestGroup(t *testing.T) {
	service, set := read(t, "group.yaml", "StatefulSet")
	require.Equal(t, "None", service.Spec.ClusterIP)
	require.True(t, service.Spec.PublishNotReadyAddresses)
	require.Equal(t, service.Metadata.Name, set.Spec.ServiceName)
	require.Equal(t, "Parallel", set.Spec.PodManagementPolicy, "a pod whose peers have no names yet does not become ready")
	require.Equal(t, labels(t, &service.Spec.Selector), set.Spec.Template.Metadata.Labels)
	var selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	require.NoError(t, set.Spec.Selector.Decode(&selector))
	require.Equal(t, set.Spec.Template.Metadata.Labels, selector.MatchLabels)
	var seeds []string
	for i := range set.Spec.Replicas {
		seeds = append(seeds, fmt.Sprintf("%s-%d.%s:7100", set.Metadata.Name, i, service.Metadata.Name))
	}
	require.Contains(t, set.Spec.Template.Spec.Containers[0].Command, "embedded://"+strings.Join(seeds, ","))
}

// TestPods runs the job of the manifest. Each pod is a network namespace with the variables that
// Kubernetes would give it. It knows the names of the pods that the name server of Kubernetes would
// resolve.
func TestPods(t *testing.T) {
	heavy.Needs(t, heavy.Namespaces)
	for _, tool := range []string{"ip", "tc", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	service, job := read(t, "hello.yaml", "Job")
	dir := t.TempDir()
	for path, pkg := range map[string]string{"hello": "../hello", "schedlab": "../../cmd/schedlab"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, path), pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	var names strings.Builder
	size := job.Spec.Completions
	for i := range size {
		fmt.Fprintf(&names, "10.77.0.%d %s-%d.%s\n", i+1, job.Metadata.Name, i, service.Metadata.Name)
		env := "exec env -u SCHEDGEN_RANK " + quoted(environ(t, &job, i)) + " " + dir + quoted(job.Spec.Template.Spec.Containers[0].Command) + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("pod%d", i)), []byte(env), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts"), []byte(names.String()), 0o600))
	pod := fmt.Sprintf("mount --bind %s/hosts /etc/hosts && . %s/pod$SCHEDGEN_RANK", dir, dir)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "schedlab"), "netns", "--hosts", strconv.Itoa(size), "--rate", "", "--",
		"unshare", "-m", "sh", "-c", pod)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	var want []string
	for i := range size {
		want = append(want, fmt.Sprintf("rank %d of %d has %q", i, size, "hello world"))
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(got)
	require.Equal(t, want, got)
}

// quoted returns words quoted for a shell.
func quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	return b.String()
}
