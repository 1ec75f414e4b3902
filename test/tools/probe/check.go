package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
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
	// Reads that returned what another client wrote, and writes that overlapped one of another client on the same key:
	// without both, little is proved.
	ReadsOfOthers     int `json:"readsOfOthers"`
	OverlappingWrites int `json:"overlappingWrites"`
}

func check(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: probe check FILE")
	}
	history, err := readHistory(args[0])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(judge(history))
}

func judge(history []porcupine.Operation) verdict {
	answer := map[porcupine.CheckResult]string{porcupine.Ok: "yes", porcupine.Illegal: "no", porcupine.Unknown: "undecided"}
	found := verdict{Operations: len(history)}
	history = withoutUnread(history)
	parts := register.Partition(history)
	found.Keys = len(parts)
	for _, part := range parts {
		writers := map[string]int{}
		var writes []porcupine.Operation
		for _, operation := range part {
			if request := operation.Input.(input); request.write {
				writers[request.value] = operation.ClientId
				writes = append(writes, operation)
			}
			if operation.Return == math.MaxInt64 {
				found.Unknown++
			}
		}
		for _, operation := range part {
			value, _ := operation.Output.(string)
			if writer, known := writers[value]; known && !operation.Input.(input).write && writer != operation.ClientId {
				found.ReadsOfOthers++
			}
		}
		slices.SortFunc(writes, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for at, write := range writes {
			if at > 0 && write.Call < writes[at-1].Return && write.ClientId != writes[at-1].ClientId {
				found.OverlappingWrites++
			}
		}
	}
	found.Linearizable = answer[porcupine.CheckOperationsTimeout(register, history, checkTimeout)]
	return found
}

// withoutUnread leaves out writes without an answer whose value was never read. Such a write can always come last, so it
// never decides; the search would try it at every place.
func withoutUnread(history []porcupine.Operation) []porcupine.Operation {
	read := map[input]bool{}
	for _, operation := range history {
		if request := operation.Input.(input); !request.write {
			read[input{true, request.key, operation.Output.(string)}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(history), func(each porcupine.Operation) bool {
		request := each.Input.(input)
		return request.write && each.Return == math.MaxInt64 && !read[request]
	})
}

// readHistory takes the requests on registers. A failed read says nothing; a failed write may happen at any later time.
func readHistory(path string) (history []porcupine.Operation, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	// An attempt that is unknown never ends, so its client must not be seen to go on: each gets a client of its own.
	nextClient := 1_000_000
	for lines.Scan() {
		var attempt Attempt
		if err := json.Unmarshal(lines.Bytes(), &attempt); err != nil {
			return nil, err
		}
		if attempt.Kind != "read" && attempt.Kind != "write" {
			continue
		}
		isRegister := len(attempt.Key) > 9 && attempt.Key[:9] == "register/"
		if !isRegister || (attempt.Error != "" && !attempt.Unknown) {
			continue
		}
		operation := porcupine.Operation{
			ClientId: attempt.Client,
			Input:    input{write: attempt.Kind == "write", key: attempt.Key, value: written(attempt)},
			Call:     attempt.Start,
			Output:   attempt.Value,
			Return:   attempt.End,
		}
		if attempt.Unknown {
			operation.ClientId, operation.Return = nextClient, math.MaxInt64
			nextClient++
		}
		history = append(history, operation)
	}
	return history, lines.Err()
}

func written(attempt Attempt) string {
	if attempt.Kind == "write" {
		return attempt.Value
	}
	return ""
}
