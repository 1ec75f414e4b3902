package sdk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func annotations(change map[string]string) map[string]string {
	all := map[string]string{
		prefix + "cluster": "east", prefix + "epoch": "12", prefix + "revision": "r3", prefix + "processor": "true",
		prefix + "topology-version": "4", prefix + "partition": "1",
		prefix + "topology": `[{"cluster":"east","replicas":1,"ordinals":[0],"instances":["x-0"],"addresses":["a"],"states":["member"]}]`,
	}
	for key, value := range change {
		all[prefix+key] = value
	}
	return all
}

func TestReadGrant(t *testing.T) {
	grant, err := ReadGrant(annotations(nil), nil)
	if err != nil || grant.Epoch != 12 || !grant.Processor || grant.Partition != 1 || grant.Own().Instances[0] != "x-0" {
		t.Fatalf("read %+v, %v", grant, err)
	}
	if grant, err := ReadGrant(map[string]string{"other": "1"}, nil); grant != nil || err != nil {
		t.Fatalf("an object that Lockstep does not manage: %v, %v", grant, err)
	}
	var malformed *MalformedError
	for key, value := range map[string]string{
		"topology": "{", "epoch": "-1", "processor": "yes", "revision": "", "topology-version": "1234567890123456",
		"initial-cluster-state": "old",
	} {
		if _, err := ReadGrant(annotations(map[string]string{key: value}), nil); !errors.As(err, &malformed) {
			t.Errorf("%s: %q was read: %v", key, value, err)
		}
	}
	var referenced *ReferencedError
	ref := map[string]string{"topology-ref": `{"sha256":"00","configMaps":["a"]}`}
	missing := func(string) (map[string]string, error) { return nil, nil }
	if _, err := ReadGrant(annotations(ref), missing); !errors.As(err, &referenced) {
		t.Errorf("a missing ConfigMap: %v", err)
	}
	unreachable := errors.New("connection refused")
	unread := func(string) (map[string]string, error) { return nil, unreachable }
	if grant, err := ReadGrant(annotations(ref), unread); grant != nil || !errors.Is(err, unreachable) || errors.As(err, &referenced) {
		t.Errorf("a ConfigMap that could not be read: %+v, %v", grant, err)
	}
	forged := func(string) (map[string]string, error) { return map[string]string{"part": "{}"}, nil }
	if _, err := ReadGrant(annotations(ref), forged); !errors.As(err, &malformed) {
		t.Errorf("a forged ConfigMap: %v", err)
	}
}

func TestNextStep(t *testing.T) {
	running := Instance{Name: "a", State: Member, Process: Ready, Revision: "new", HasVolume: true}
	old := running
	old.Revision = "old"
	lost := Instance{Name: "a", State: Member, HasVolume: true}
	homeless := Instance{Name: "a", State: Member}
	second := old
	second.Name = "b"
	turn := &Grant{Processor: true, Revision: "new"}
	idle := &Grant{Revision: "new"}
	for name, check := range map[string]struct {
		grant     *Grant
		instances []Instance
		leader    string
		do        Action
		on        string
	}{
		"nothing to do":                              {turn, []Instance{running}, "", Nothing, ""},
		"a lost member without the turn":             {idle, []Instance{lost}, "", Recreate, "a"},
		"an old one without the turn":                {idle, []Instance{old}, "", Nothing, ""},
		"a lost volume without the turn":             {idle, []Instance{homeless}, "", Wait, ""},
		"a lost volume with the turn":                {turn, []Instance{homeless}, "", Join, "a"},
		"the highest ordinal first":                  {turn, []Instance{old, second}, "", Restart, "b"},
		"the leader last":                            {turn, []Instance{old, second}, "b", Restart, "a"},
		"the partition":                              {&Grant{Processor: true, Revision: "new", Partition: 1}, []Instance{old}, "", Nothing, ""},
		"the leader's move comes first":              {&Grant{Processor: true, Revision: "new", TransferLeaderTo: "z"}, []Instance{old}, "a", TransferLeader, ""},
		"no restart while it is not known who leads": {&Grant{Processor: true, Revision: "new", TransferLeaderTo: "z"}, []Instance{old}, "", Wait, ""},
		"no move if the leader is not here":          {&Grant{Processor: true, Revision: "new", TransferLeaderTo: "z"}, []Instance{running}, "z", Nothing, ""},
	} {
		step := NextStep(check.grant, check.instances, check.leader)
		if step.Do != check.do || step.Instance.Name != check.on {
			t.Errorf("%s: %+v", name, step)
		}
	}
}

func TestReport(t *testing.T) {
	grant := &Grant{Epoch: 7, Revision: "new", Partition: 1}
	old := Instance{Process: Ready, Revision: "old"}
	updated := Instance{Process: Ready, Revision: "new"}
	if report := NewReport(grant, 2, []Instance{old, updated}); report.Phase != "Done" || report.Epoch != 7 {
		t.Errorf("complete above the partition: %+v", report)
	}
	if report := NewReport(grant, 1, []Instance{updated, {Process: Ending}}); report.Phase != "Working" {
		t.Errorf("one still ends: %+v", report)
	}
}

func TestReportOfMembers(t *testing.T) {
	grant := &Grant{Epoch: 7, Revision: "new"}
	written := func(report Report) string {
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	report := NewReport(grant, 0, nil)
	// Null removes in a merge patch what the report before had.
	if text := written(report); !strings.Contains(text, `"members":null,"membersAt":null`) {
		t.Errorf("without a list: %s", text)
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.FixedZone("east", 3600))
	want := `"members":["x-0","x-1"],"membersAt":"2030-01-02T02:04:05Z"`
	if text := written(report.WithMembers([]string{"x-0", "x-1"}, at)); !strings.Contains(text, want) {
		t.Errorf("with one: %s", text)
	}
	if text := written(report.WithMembers(nil, at)); !strings.Contains(text, `"members":[],"membersAt":"2030`) {
		t.Errorf("with an empty one: %s", text)
	}
}
