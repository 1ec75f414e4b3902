package sdk

import "time"

// Report is status.crossCluster. Write all of it in one status write, by a merge patch: absent fields are null, so that
// none remains from the previous report.
type Report struct {
	Epoch     int64    `json:"epoch"`
	Revision  string   `json:"revision"`
	Phase     string   `json:"phase"`
	Desired   int      `json:"desired"`
	Updated   int      `json:"updated"`
	Ready     int      `json:"ready"`
	Leader    *string  `json:"leader"`
	Members   []string `json:"members"`
	MembersAt *string  `json:"membersAt"`
	Message   *string  `json:"message"`
}

// NewReport counts the instances as they were at the start of the reconcile, for the grant that was read with them (M1).
// Phase is Done only if all of them are complete (M8).
func NewReport(grant *Grant, desired int, instances []Instance) Report {
	report := Report{Epoch: grant.Epoch, Revision: grant.Revision, Phase: "Working", Desired: desired}
	present := 0
	for _, instance := range instances {
		if instance.Process != None {
			present++
		}
		if instance.Process == Ready {
			report.Ready++
			if instance.Revision == grant.Revision {
				report.Updated++
			}
		}
	}
	if report.Ready == desired && present == desired && report.Updated >= max(0, desired-grant.Partition) {
		report.Phase = "Done"
	}
	return report
}

// WithLeader tells who leads the whole application: by name if it is here, and else that it is elsewhere. Leave it out if
// the leader is not known.
func (r Report) WithLeader(leader string, instances []Instance) Report {
	here := ""
	for _, instance := range instances {
		if instance.Name == leader {
			here = leader
		}
	}
	r.Leader = &here
	return r
}

// WithMembers tells the application's own list of members, by instance name, and when its leader confirmed it. Only such a
// list from after a loss proves that lost instances were removed from the application.
func (r Report) WithMembers(members []string, at time.Time) Report {
	confirmed := at.UTC().Format(time.RFC3339)
	r.Members, r.MembersAt = append([]string{}, members...), &confirmed
	return r
}

// Failed stops the rollout with a message.
func (r Report) Failed(message string) Report {
	r.Phase, r.Message = "Failed", &message
	return r
}
