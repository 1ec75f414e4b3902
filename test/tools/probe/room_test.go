package main

import "testing"

func TestRoomShrinksWhileAnswersAreLate(t *testing.T) {
	r := &room{most: maxLooks}
	for range maxLooks {
		if !r.enter() {
			t.Fatal("there is room")
		}
	}
	if r.enter() {
		t.Fatal("it is full")
	}
	for range 3 {
		r.leave(true, true)
	}
	if r.most != maxLooks/8 || r.enter() {
		t.Fatalf("after three late answers, %d at most", r.most)
	}
	r.leave(false, false)
	if r.most != maxLooks/8 {
		t.Fatal("no answer says nothing about the machine")
	}
	for range 2 * maxLooks {
		r.leave(false, true)
	}
	if r.most != maxLooks {
		t.Fatalf("after many prompt answers, %d at most", r.most)
	}
}
