// Command operator is a complete operator on the member contract: one pod with one volume for each instance. Its
// application has no list of members; where it would be asked for one, a comment says so.
//
//	operator -server http://127.0.0.1:8001 -api-version example.io/v1alpha1 -kind Cache -plural caches
//
// In a cluster, leave -server away: it uses the pod's service account. If the application has a leader, -leader is the
// URL where it tells which instance leads (GET) and where the leader is asked to move (POST); see leader.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "lockstep.karmada.io/sdk"
)

const (
	ownerLabel    = "sdk.lockstep.karmada.io/owner"
	revisionLabel = "sdk.lockstep.karmada.io/revision"
	// On a claim: what its instance runs, so that it can return exactly as it was.
	runsAnnotation = "sdk.lockstep.karmada.io/runs"
)

func main() {
	server := flag.String("server", "", "the API server of this cluster; empty: the one of the pod that this runs in")
	tokenFile := flag.String("token-file", "", "a file with the token for -server; empty: none")
	kind := kind{}
	flag.StringVar(&kind.apiVersion, "api-version", "", "of the operator's kind")
	flag.StringVar(&kind.name, "kind", "", "the operator's kind")
	flag.StringVar(&kind.plural, "plural", "", "its plural")
	leaderURL := flag.String("leader", "", "where the application tells its leader and moves it; empty: it has none")
	every := flag.Duration("every", 250*time.Millisecond, "how often all objects are read")
	flag.Parse()
	api, err := connect(*server, *tokenFile)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	operator := operator{api: api, kind: kind, leaders: leaders{*leaderURL, &http.Client{Timeout: requestTimeout}}}
	for ticker := time.NewTicker(*every); ctx.Err() == nil; {
		operator.reconcileAll(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

type kind struct{ apiVersion, name, plural string }

type operator struct {
	api     *api
	kind    kind
	leaders leaders
}

// runs is what one instance runs.
type runs struct {
	Revision string   `json:"revision"`
	Image    string   `json:"image"`
	Args     []string `json:"args"`
}

func (o *operator) reconcileAll(ctx context.Context) {
	objects, err := o.api.list(ctx, o.kind.apiVersion, o.kind.plural, "")
	if err != nil {
		log.Printf("the objects could not be listed: %v", err)
		return
	}
	// One bad object harms only itself.
	for _, object := range objects {
		if err := o.reconcile(ctx, object); err != nil {
			log.Printf("%s/%s is reconciled again: %v", object.Metadata.Namespace, object.Metadata.Name, err)
		}
	}
}

// reconcile reads the grant, looks, does one step, and reports what it saw.
func (o *operator) reconcile(ctx context.Context, object object) error {
	namespace := object.Metadata.Namespace
	grant, err := sdk.ReadGrant(object.Metadata.Annotations, func(name string) (map[string]string, error) {
		found, err := o.api.get(ctx, "v1", "configmaps", namespace, name)
		if isStatus(err, 404) {
			return nil, nil
		}
		return found.Data, err
	})
	var malformed *sdk.MalformedError
	if errors.As(err, &malformed) {
		return o.write(ctx, object, map[string]any{"message": malformed.Error()})
	}
	if err != nil || grant == nil {
		return err
	}
	own := grant.Own()
	instances := make([]sdk.Instance, len(own.Instances))
	for at, name := range own.Instances {
		instances[at] = sdk.Instance{Name: name, Address: own.Addresses[at], State: own.States[at]}
		if err := o.look(ctx, object, &instances[at]); err != nil {
			return err
		}
	}
	leader, failure := o.leaders.leader(ctx)
	step := sdk.NextStep(grant, instances, leader)
	// While it is not known who leads, the next instance may be the one (M6).
	mayLead := o.leaders.url != "" && leader == "" && step.Do == sdk.Restart && step.Instance.Process == sdk.Ready
	if failure == nil && mayLead {
		failure = fmt.Errorf("%s restarts when the application has a leader", step.Instance.Name)
	} else if failure == nil || step.Do == sdk.Recreate {
		failure = errors.Join(failure, o.act(ctx, object, grant, step))
	}
	report := sdk.NewReport(grant, object.Spec.Replicas, instances)
	if leader != "" {
		report = report.WithLeader(leader, instances)
	}
	if failure != nil {
		text := failure.Error()
		report.Message = &text
	} else if step.Why != "" {
		report.Message = &step.Why
	}
	return o.write(ctx, object, map[string]any{
		"observedGeneration": object.Metadata.Generation, "replicas": len(instances), "readyReplicas": report.Ready,
		"updatedReplicas": report.Updated, "crossCluster": report,
	})
}

func (o *operator) look(ctx context.Context, owner object, instance *sdk.Instance) error {
	namespace := owner.Metadata.Namespace
	claim, err := o.api.get(ctx, "v1", "persistentvolumeclaims", namespace, "data-"+instance.Name)
	if err != nil && !isStatus(err, 404) {
		return err
	}
	instance.HasVolume = err == nil && claim.Metadata.DeletionTimestamp == "" && claim.Metadata.Annotations[runsAnnotation] != ""
	pod, err := o.api.get(ctx, "v1", "pods", namespace, instance.Name)
	if isStatus(err, 404) || (err == nil && !pod.isOf(owner)) {
		return nil // a pod of another owner is none of ours
	}
	if err != nil {
		return err
	}
	instance.Revision = pod.Metadata.Labels[revisionLabel]
	switch {
	case pod.Metadata.DeletionTimestamp != "":
		instance.Process = sdk.Ending
	case pod.Status.isReady():
		instance.Process = sdk.Ready
	case pod.Status.isCrashed():
		instance.Process = sdk.Down
	default:
		instance.Process = sdk.Starting
	}
	return nil
}

func (o *operator) act(ctx context.Context, object object, grant *sdk.Grant, step sdk.Step) error {
	name, namespace := step.Instance.Name, object.Metadata.Namespace
	wanted := runs{grant.Revision, object.Spec.Image, object.Spec.Args}
	switch step.Do {
	case sdk.Recreate:
		claim, err := o.api.get(ctx, "v1", "persistentvolumeclaims", namespace, "data-"+name)
		if err != nil {
			return err
		}
		var before runs
		if err := json.Unmarshal([]byte(claim.Metadata.Annotations[runsAnnotation]), &before); err != nil {
			return err
		}
		return o.start(ctx, object, name, before)
	case sdk.Join:
		// An application with members adds the instance here, before it starts.
		if err := o.remember(ctx, namespace, name, wanted); err != nil {
			return err
		}
		return o.start(ctx, object, name, wanted)
	case sdk.Restart:
		if err := o.remember(ctx, namespace, name, wanted); err != nil {
			return err
		}
		return o.deletePod(ctx, object, name)
	case sdk.TransferLeader:
		return o.leaders.move(ctx, grant.TransferLeaderTo)
	case sdk.Remove:
		// An application with members removes the instance here, before it stops.
		if err := o.deletePod(ctx, object, name); err != nil {
			return err
		}
		claim, err := o.api.get(ctx, "v1", "persistentvolumeclaims", namespace, "data-"+name)
		if isStatus(err, 404) || (err == nil && claim.Metadata.Annotations[runsAnnotation] == "") {
			return nil
		}
		if err != nil {
			return err
		}
		return o.api.delete(ctx, "v1", "persistentvolumeclaims", claim)
	}
	return nil
}

// deletePod deletes the pod of an instance, and no other of that name.
func (o *operator) deletePod(ctx context.Context, owner object, name string) error {
	pod, err := o.api.get(ctx, "v1", "pods", owner.Metadata.Namespace, name)
	if isStatus(err, 404) || (err == nil && !pod.isOf(owner)) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.api.delete(ctx, "v1", "pods", pod)
}

// remember writes what the instance runs, before it runs it.
func (o *operator) remember(ctx context.Context, namespace, instance string, what runs) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	annotations := map[string]any{runsAnnotation: string(text)}
	patch := map[string]any{"metadata": map[string]any{"annotations": annotations}}
	err = o.api.patch(ctx, "v1", "persistentvolumeclaims", namespace, "data-"+instance, patch)
	if !isStatus(err, 404) {
		return err
	}
	return o.api.create(ctx, "v1", "persistentvolumeclaims", namespace, map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": map[string]any{"name": "data-" + instance, "annotations": annotations},
		"spec": map[string]any{
			"accessModes": []string{"ReadWriteOnce"},
			"resources":   map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		},
	})
}

func (o *operator) start(ctx context.Context, owner object, instance string, what runs) error {
	found, err := o.api.get(ctx, "v1", "pods", owner.Metadata.Namespace, instance)
	if err == nil && !found.isOf(owner) {
		return fmt.Errorf("the pod %s is not of this %s (%s): delete it, or give it another name", instance, o.kind.name, owner.Metadata.Name)
	}
	if err != nil && !isStatus(err, 404) {
		return err
	}
	return o.api.create(ctx, "v1", "pods", owner.Metadata.Namespace, map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name":   instance,
			"labels": map[string]string{ownerLabel: owner.Metadata.Name, revisionLabel: what.Revision},
			"ownerReferences": []any{map[string]any{
				"apiVersion": o.kind.apiVersion, "kind": o.kind.name, "name": owner.Metadata.Name, "uid": owner.Metadata.UID, "controller": true,
			}},
		},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "main", "image": what.Image, "args": what.Args,
				"volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}},
			}},
			"volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data-" + instance}}},
		},
	})
}

// write puts the status there if it is news, with the resourceVersion that was read: a report is never written to a newer
// version of the object.
func (o *operator) write(ctx context.Context, object object, status map[string]any) error {
	if isSaid(object.Status.raw, status) {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": object.Metadata.ResourceVersion}, "status": status}
	err := o.api.patch(ctx, o.kind.apiVersion, o.kind.plural, object.Metadata.Namespace, object.Metadata.Name+"/status", patch)
	if isStatus(err, 409) {
		return nil // a newer version is there; the next round reads it
	}
	return err
}
