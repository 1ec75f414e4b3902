package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// A search that takes longer than this is not decided, and is said so.
const checkTimeout = 2 * time.Minute

type input struct {
	write bool
	key   string
	value string
}

// register is one key: a read returns the last write, or nothing.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(input).key
			byKey[key] = append(byKey[key], operation)
		}
		parts := make([][]porcupine.Operation, 0, len(byKey))
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		if request := in.(input); request.write {
			return true, request.value
		}
		return out.(string) == state.(string), state
	},
	Equal: func(a, b any) bool { return a == b },
}

type verdict struct {
	Linearizable string `json:"linearizable"` // yes, no, undecided
	Operations   int    `json:"operations"`
	Unknown      int    `json:"unknown"`
	Keys         int    `json:"keys"`
}

func check(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: probe check FILE")
	}
	history, unknown, err := readHistory(args[0])
	if err != nil {
		return err
	}
	keys := map[string]bool{}
	for _, operation := range history {
		keys[operation.Input.(input).key] = true
	}
	answer := map[porcupine.CheckResult]string{porcupine.Ok: "yes", porcupine.Illegal: "no", porcupine.Unknown: "undecided"}
	found := porcupine.CheckOperationsTimeout(register, history, checkTimeout)
	return json.NewEncoder(os.Stdout).Encode(verdict{answer[found], len(history), unknown, len(keys)})
}

// readHistory takes the requests on registers. A failed read says nothing; a failed write may happen at any later time.
func readHistory(path string) (history []porcupine.Operation, unknown int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	// An attempt that is unknown never ends, so its client must not be seen to go on: each gets a client of its own.
	nextClient := 1_000_000
	for lines.Scan() {
		var attempt Attempt
		if err := json.Unmarshal(lines.Bytes(), &attempt); err != nil {
			return nil, 0, err
		}
		isRegister := len(attempt.Key) > 9 && attempt.Key[:9] == "register/"
		if attempt.Kind == "look" || !isRegister || (attempt.Error != "" && !attempt.Unknown) {
			continue
		}
		operation := porcupine.Operation{
			ClientId: attempt.Client,
			Input:    input{write: attempt.Kind == "write", key: attempt.Key, value: attempt.Value},
			Call:     attempt.Start,
			Output:   attempt.Value,
			Return:   attempt.End,
		}
		if attempt.Unknown {
			unknown++
			operation.ClientId, operation.Return = nextClient, math.MaxInt64
			nextClient++
		}
		history = append(history, operation)
	}
	return history, unknown, lines.Err()
}
