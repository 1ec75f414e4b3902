package main

import "sync"

// room limits how many looks at one member are under way. A member that does not answer keeps its room: its looks cost
// nothing, and its return is to be seen at once.
type room struct {
	mu     sync.Mutex
	most   int
	inside int
}

func (r *room) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside >= r.most {
		return false
	}
	r.inside++
	return true
}

func (r *room) leave(late, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
	switch {
	case late:
		r.most = max(1, r.most/2)
	case answered:
		r.most = min(maxLooks, r.most+1)
	}
}
