package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "lockstep.karmada.io/sdk"
)

// member is an API server with a map for its objects: path -> object.
type member struct {
	objects map[string]map[string]any
	// writes in order, as METHOD path.
	writes []string
	// broken: every read of such a path fails.
	broken string
	uids   int
}

func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(code int, message string) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(map[string]any{"message": message})
	}
	at := strings.TrimSuffix(r.URL.Path, "/status")
	found, exists := m.objects[at]
	var body map[string]any
	json.NewDecoder(r.Body).Decode(&body)
	if r.Method != http.MethodGet {
		m.writes = append(m.writes, r.Method+" "+r.URL.Path)
	}
	switch {
	case m.broken != "" && strings.Contains(at, m.broken):
		refuse(503, "the API server does not answer")
	case r.Method == http.MethodPost:
		metadata := body["metadata"].(map[string]any)
		at += "/" + metadata["name"].(string)
		if _, exists := m.objects[at]; exists {
			refuse(409, "already exists")
			return
		}
		m.uids++
		metadata["uid"], metadata["namespace"] = fmt.Sprintf("uid-%d", m.uids), "default"
		m.objects[at] = body
	case !exists:
		refuse(404, "not found")
	case r.Method == http.MethodDelete:
		preconditions, _ := body["preconditions"].(map[string]any)
		if preconditions["uid"] != found["metadata"].(map[string]any)["uid"] {
			refuse(409, "the UID in the precondition does not match")
			return
		}
		delete(m.objects, at)
	case r.Method == http.MethodPatch:
		merge(found, body)
	default:
		json.NewEncoder(w).Encode(found)
	}
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		if has, ok := into[key].(map[string]any); ok && isObject {
			merge(has, inner)
		} else {
			into[key] = value
		}
	}
}

const (
	pods     = "/api/v1/namespaces/default/pods/"
	claims   = "/api/v1/namespaces/default/persistentvolumeclaims/"
	cachesAt = "/apis/example.io/v1alpha1/namespaces/default/caches/"
)

func world(t *testing.T) (*member, *operator) {
	m := &member{objects: map[string]map[string]any{}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	o := &operator{
		api:  &api{server.URL, func() string { return "" }, server.Client()},
		kind: kind{"example.io/v1alpha1", "Cache", "caches"},
	}
	return m, o
}

func (m *member) pod(name, ownerUID, revision string) {
	pod := map[string]any{
		"metadata": map[string]any{
			"name": name, "namespace": "default", "uid": "uid-of-" + name,
			"labels":          map[string]any{revisionLabel: revision},
			"ownerReferences": []any{map[string]any{"uid": ownerUID, "controller": true}},
		},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
	m.objects[pods+name] = pod
	m.objects[claims+"data-"+name] = map[string]any{"metadata": map[string]any{
		"name": "data-" + name, "namespace": "default", "uid": "uid-of-data-" + name,
		"annotations": map[string]any{runsAnnotation: `{"revision":"` + revision + `"}`},
	}}
}

// granted is the object as the operator lists it, with a grant of so many instances in these states.
func (m *member) granted(t *testing.T, revision string, change map[string]string, states ...sdk.State) object {
	var ordinals []int
	var names []string
	for at := range states {
		ordinals, names = append(ordinals, at), append(names, fmt.Sprintf("x-%d", at))
	}
	topology, _ := json.Marshal([]sdk.Cluster{{
		Cluster: "east", Replicas: len(states), Ordinals: ordinals, Instances: names, Addresses: names, States: states,
	}})
	annotations := map[string]any{}
	for key, value := range map[string]string{
		"cluster": "east", "epoch": "5", "revision": revision, "processor": "true", "topology-version": "1",
		"topology": string(topology),
	} {
		annotations["crossclusterstatefulset.karmada.io/"+key] = value
	}
	for key, value := range change {
		annotations["crossclusterstatefulset.karmada.io/"+key] = value
	}
	m.objects[cachesAt+"x"] = map[string]any{
		"metadata": map[string]any{"name": "x", "namespace": "default", "uid": "uid-of-x", "annotations": annotations},
		"spec":     map[string]any{"replicas": len(states)},
	}
	text, _ := json.Marshal(m.objects[cachesAt+"x"])
	var read object
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func (m *member) said() string {
	text, _ := json.Marshal(m.objects[cachesAt+"x"]["status"])
	return string(text)
}

func TestOnlyOwnPodsAreTouched(t *testing.T) {
	for name, state := range map[string]sdk.State{"restart": sdk.Member, "remove": sdk.Leaving, "join": sdk.Joining} {
		m, o := world(t)
		m.pod("x-0", "uid-of-another", "old")
		delete(m.objects, claims+"data-x-0")
		if err := o.reconcile(context.Background(), m.granted(t, "new", nil, state)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m.objects[pods+"x-0"] == nil {
			t.Errorf("%s: the pod of another owner was deleted", name)
		}
		if state != sdk.Leaving && !strings.Contains(m.said(), "the pod x-0 is not of this Cache (x)") {
			t.Errorf("%s: it says %s", name, m.said())
		}
		if strings.Contains(m.said(), `"phase":"Done"`) && state != sdk.Leaving {
			t.Errorf("%s: a pod of another owner counts: %s", name, m.said())
		}
	}
}

func TestAnotherObjectOfTheSameNameStays(t *testing.T) {
	m, o := world(t)
	m.pod("x-0", "uid-of-x", "old")
	pod, err := o.api.get(context.Background(), "v1", "pods", "default", "x-0")
	if err != nil {
		t.Fatal(err)
	}
	m.objects[pods+"x-0"]["metadata"].(map[string]any)["uid"] = "uid-of-the-next"
	if err := o.api.delete(context.Background(), "v1", "pods", pod); err != nil || m.objects[pods+"x-0"] == nil {
		t.Errorf("the pod that replaced it was deleted, or: %v", err)
	}
	m.objects[pods+"x-0"]["metadata"].(map[string]any)["uid"] = pod.Metadata.UID
	if err := o.reconcile(context.Background(), m.granted(t, "new", nil, sdk.Member)); err != nil || m.objects[pods+"x-0"] != nil {
		t.Errorf("its own pod was not restarted: %v, %s", err, m.said())
	}
}

func TestAnUnreachableAPIIsNotAMissingTopology(t *testing.T) {
	m, o := world(t)
	m.pod("x-0", "uid-of-x", "old")
	ref := map[string]string{"topology-ref": `{"sha256":"00","configMaps":["a"]}`}
	m.broken = "configmaps"
	err := o.reconcile(context.Background(), m.granted(t, "new", ref, sdk.Member))
	if !isStatus(err, 503) {
		t.Errorf("it read %v", err)
	}
	if len(m.writes) > 0 {
		t.Errorf("it wrote %v", m.writes)
	}
}

func TestTheLeaderMovesBeforeItRestarts(t *testing.T) {
	m, o := world(t)
	leader, asked := "x-0", ""
	answers := 200
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answers)
		if r.Method == http.MethodPost {
			var body map[string]string
			json.NewDecoder(r.Body).Decode(&body)
			asked = body["leader"]
		}
		json.NewEncoder(w).Encode(map[string]string{"leader": leader})
	}))
	defer application.Close()
	o.leaders = leaders{application.URL, application.Client()}
	m.pod("x-0", "uid-of-x", "old")
	transfer := map[string]string{"transfer-leader-to": "y-0"}
	step := func() bool {
		if err := o.reconcile(context.Background(), m.granted(t, "new", transfer, sdk.Member)); err != nil {
			t.Fatal(err)
		}
		return m.objects[pods+"x-0"] != nil
	}
	if !step() || asked != "y-0" || !strings.Contains(m.said(), `"leader":"x-0"`) {
		t.Errorf("it asked %q to lead, and says %s", asked, m.said())
	}
	leader = ""
	if !step() || !strings.Contains(m.said(), "x-0 restarts when") {
		t.Errorf("without a leader it says %s", m.said())
	}
	answers = 503
	if !step() || !strings.Contains(m.said(), "503") {
		t.Errorf("without an answer it says %s", m.said())
	}
	answers, leader = 200, "y-0"
	if step() {
		t.Errorf("it does not restart after the move: %s", m.said())
	}
}
