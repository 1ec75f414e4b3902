package sdk

import "fmt"

// Process of an instance.
type Process int

const (
	// None: there is no pod.
	None Process = iota
	// Down: it should run, and its container does not.
	Down
	// Starting: it runs, and does not take part in every decision of the application.
	Starting
	Ready
	// Ending: its pod was deleted.
	Ending
)

// Instance of this cluster, as the topology names it and as the operator finds it.
type Instance struct {
	Name     string
	Address  string
	State    State
	Process  Process
	Revision string
	// HasVolume: its volume exists and belongs to this life of the instance.
	HasVolume bool
}

// Action that a step asks for.
type Action string

const (
	Nothing        Action = "nothing"
	Wait           Action = "wait"
	Recreate       Action = "recreate"       // on its volume, exactly as it was (M2)
	TransferLeader Action = "transferLeader" // to grant.TransferLeaderTo (M6)
	Remove         Action = "remove"         // from the application's own members, then its pod, then its volume (M3)
	Join           Action = "join"           // add it to the application, and start it on an empty volume (M3)
	Restart        Action = "restart"        // on the grant's revision, on its volume (M3)
)

// Step is the next thing that an operator does.
type Step struct {
	Do       Action
	Instance Instance
	Why      string
}

// NextStep decides what an operator does next, one instance at a time. leader is the leading instance of the whole
// application; empty: unknown.
func NextStep(grant *Grant, instances []Instance, leader string) Step {
	for _, instance := range instances {
		if instance.Process == None && instance.State == Member && instance.HasVolume {
			return Step{Do: Recreate, Instance: instance}
		}
	}
	if !grant.Processor {
		for _, instance := range instances {
			if instance.Process == None && instance.State == Member {
				return Step{Do: Wait, Why: fmt.Sprintf("the volume of %s is lost; it is replaced in this cluster's next turn", instance.Name)}
			}
		}
		return Step{Do: Nothing}
	}
	var staying, outdated []Instance
	leads := false
	for _, instance := range instances {
		leads = leads || (leader != "" && instance.Name == leader)
		if instance.State != Leaving {
			staying = append(staying, instance)
		}
	}
	if grant.TransferLeaderTo != "" && leads && leader != grant.TransferLeaderTo {
		return Step{Do: TransferLeader}
	}
	for _, instance := range instances {
		if instance.State == Leaving && (instance.Process != None || instance.HasVolume) {
			return Step{Do: Remove, Instance: instance}
		}
	}
	for at, instance := range staying {
		if instance.Process != None && at >= grant.Partition && instance.Revision != grant.Revision {
			outdated = append(outdated, instance)
		}
	}
	for _, instance := range staying {
		switch {
		case instance.Process == None || instance.Process == Ready:
		case instance.Process == Down && contains(outdated, instance.Name):
			// Only a broken instance of another revision need not be waited for.
			return Step{Do: Restart, Instance: instance}
		default:
			return Step{Do: Wait, Why: instance.Name + " is not ready"}
		}
	}
	for _, instance := range staying {
		if instance.Process == None {
			return Step{Do: Join, Instance: instance}
		}
	}
	if len(outdated) > 0 && grant.TransferLeaderTo != "" && leader == "" {
		return Step{Do: Wait, Why: outdated[len(outdated)-1].Name + " restarts when it is known who leads"}
	}
	for at := len(outdated) - 1; at >= 0; at-- {
		if outdated[at].Name != leader {
			return Step{Do: Restart, Instance: outdated[at]}
		}
	}
	if len(outdated) > 0 {
		return Step{Do: Restart, Instance: outdated[len(outdated)-1]}
	}
	return Step{Do: Nothing}
}

func contains(instances []Instance, name string) bool {
	for _, instance := range instances {
		if instance.Name == name {
			return true
		}
	}
	return false
}
