// Package sdk is for authors of member operators: it reads the grant that Lockstep wrote, decides the next step, and
// builds the report. docs/member-contract.md has the rules (M1 to M9).
package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// digits is the text of every number of the contract.
var digits = regexp.MustCompile(`^[0-9]{1,15}$`)

const prefix = "crossclusterstatefulset.karmada.io/"

// State of an instance in the topology.
type State string

const (
	Member  State = "member"
	Joining State = "joining"
	Leaving State = "leaving"
)

// Cluster is one cluster's part of the topology; the four lists are parallel, by ascending ordinal.
type Cluster struct {
	Cluster   string   `json:"cluster"`
	Replicas  int      `json:"replicas"`
	Ordinals  []int    `json:"ordinals"`
	Instances []string `json:"instances"`
	Addresses []string `json:"addresses"`
	States    []State  `json:"states"`
}

// Grant is what this cluster may do now.
type Grant struct {
	Cluster         string
	Epoch           int64
	Revision        string
	Processor       bool
	Topology        []Cluster
	TopologyVersion int64
	// Partition: so many of this cluster's instances, the lowest ordinals first, stay on the revision that they run.
	Partition        int
	TransferLeaderTo string
	InitialCluster   string
	// InitialClusterState is "new" or "existing".
	InitialClusterState string
	ClusterToken        string
}

// Own is this cluster's part of the topology.
func (g *Grant) Own() Cluster {
	for _, cluster := range g.Topology {
		if cluster.Cluster == g.Cluster {
			return cluster
		}
	}
	return Cluster{Cluster: g.Cluster}
}

// MalformedError: Lockstep wrote the grant in a form that this package does not know. Change nothing (M9).
type MalformedError struct{ Problems []string }

func (e *MalformedError) Error() string { return strings.Join(e.Problems, "; ") }

// ReferencedError: the topology is in ConfigMaps of the object's namespace, and one of them is missing. Change nothing,
// and read the object again.
type ReferencedError struct{ ConfigMaps []string }

func (e *ReferencedError) Error() string {
	return "the topology is in ConfigMaps that do not exist: " + strings.Join(e.ConfigMaps, ", ")
}

// ConfigMapReader returns the data of a ConfigMap of the object's own namespace: nil without an error if there is none,
// and an error if it could not be read. Only the API server can say that there is none.
type ConfigMapReader func(name string) (map[string]string, error)

// ReadGrant reads the grant from an object's annotations. It returns nil without an error if Lockstep does not manage
// the object. After any error, change nothing. The reader is only called for a topology that is too large for annotations.
func ReadGrant(annotations map[string]string, configMap ConfigMapReader) (*Grant, error) {
	if annotations[prefix+"epoch"] == "" && annotations[prefix+"cluster"] == "" {
		return nil, nil
	}
	r := reader{annotations: annotations}
	grant := &Grant{
		Cluster:             r.text("cluster"),
		Epoch:               r.count("epoch", false),
		Revision:            r.text("revision"),
		TopologyVersion:     r.count("topology-version", false),
		Partition:           int(r.count("partition", true)),
		TransferLeaderTo:    annotations[prefix+"transfer-leader-to"],
		InitialCluster:      annotations[prefix+"initial-cluster"],
		InitialClusterState: annotations[prefix+"initial-cluster-state"],
		ClusterToken:        annotations[prefix+"cluster-token"],
	}
	switch processor := r.text("processor"); processor {
	case "true":
		grant.Processor = true
	case "false":
	default:
		r.problem("processor must be true or false")
	}
	if state, found := annotations[prefix+"initial-cluster-state"]; found && state != "new" && state != "existing" {
		r.problem("initial-cluster-state must be new or existing")
	}
	if err := r.topology(grant, configMap); err != nil {
		return nil, err
	}
	if len(r.problems) > 0 {
		return nil, &MalformedError{r.problems}
	}
	return grant, nil
}

type reader struct {
	annotations map[string]string
	problems    []string
}

func (r *reader) problem(format string, values ...any) {
	r.problems = append(r.problems, prefix+fmt.Sprintf(format, values...))
}

func (r *reader) text(key string) string {
	value, found := r.annotations[prefix+key]
	if !found {
		r.problem("%s is missing", key)
	} else if value == "" {
		r.problem("%s is empty", key)
	}
	return value
}

func (r *reader) count(key string, optional bool) int64 {
	value, found := r.annotations[prefix+key]
	if !found && optional {
		return 0
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !digits.MatchString(value) {
		r.problem("%s must be a whole number, found %q", key, value)
	}
	return number
}

func (r *reader) topology(grant *Grant, configMap ConfigMapReader) error {
	text := r.annotations[prefix+"topology"]
	if ref := r.annotations[prefix+"topology-ref"]; ref != "" {
		document, err := r.referenced(ref, configMap)
		if err != nil {
			return err
		}
		grant.InitialCluster = document.InitialCluster
		grant.Topology = document.Topology
	} else if err := json.Unmarshal([]byte(text), &grant.Topology); err != nil {
		r.problem("topology is not a list of clusters with their instances: %v", err)
	}
	for _, cluster := range grant.Topology {
		count := len(cluster.Ordinals)
		if len(cluster.Instances) != count || len(cluster.Addresses) != count || len(cluster.States) != count {
			r.problem("topology has lists of different lengths for %s", cluster.Cluster)
		}
		for _, ordinal := range append([]int{cluster.Replicas}, cluster.Ordinals...) {
			if ordinal < 0 {
				r.problem("topology has a negative number for %s", cluster.Cluster)
			}
		}
		for _, state := range cluster.States {
			if state != Member && state != Joining && state != Leaving {
				r.problem("topology has an unknown state %q", state)
			}
		}
	}
	return nil
}

type document struct {
	Topology       []Cluster `json:"topology"`
	InitialCluster string    `json:"initialCluster"`
}

func (r *reader) referenced(ref string, configMap ConfigMapReader) (document, error) {
	var found document
	var reference struct {
		SHA256     string   `json:"sha256"`
		ConfigMaps []string `json:"configMaps"`
	}
	if err := json.Unmarshal([]byte(ref), &reference); err != nil || len(reference.ConfigMaps) == 0 {
		r.problem("topology-ref is not a reference")
		return found, nil
	}
	var text strings.Builder
	for _, name := range reference.ConfigMaps {
		data, err := configMap(name)
		if err != nil {
			return found, fmt.Errorf("the ConfigMap %s, which has a part of the topology, could not be read: %w", name, err)
		}
		part, exists := data["part"]
		if !exists {
			return found, &ReferencedError{reference.ConfigMaps}
		}
		text.WriteString(part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	if hex.EncodeToString(sum[:]) != reference.SHA256 {
		r.problem("topology-ref: the ConfigMaps %s do not have the SHA-256 that was granted", strings.Join(reference.ConfigMaps, ", "))
		return found, nil
	}
	if err := json.Unmarshal([]byte(text.String()), &found); err != nil {
		r.problem("topology-ref: the ConfigMaps do not hold a topology: %v", err)
	}
	return found, nil
}
