package main

import (
	"fmt"
	"sync/atomic"
)

const (
	// So many keys are overwritten again and again by all writers, and read by all readers: for linearizability.
	registerCount = 3
	// A register gets a new name after so many writes, so that its history can be checked quickly.
	writesPerRegister = 300
)

// registers is what all clients share, so that they always meet at the same keys, however fast each of them is.
type registers struct{ writes [registerCount]atomic.Int64 }

func (r *registers) toWrite(number int) string {
	at := number % registerCount
	return registerName(at, r.writes[at].Add(1)-1)
}

// toRead is the register that was written last.
func (r *registers) toRead(number int) string {
	at := number % registerCount
	return registerName(at, max(0, r.writes[at].Load()-1))
}

func registerName(at int, write int64) string {
	return fmt.Sprintf("register/%d/%d", at, write/writesPerRegister)
}
