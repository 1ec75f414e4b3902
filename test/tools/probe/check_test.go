package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const key = "register/0/0"

func wrote(client int, value string, start, end int64) Attempt {
	return Attempt{Kind: "write", Client: client, Key: key, Value: value, Start: start, End: end, Try: 1}
}

func read(client int, value string, start, end int64) Attempt {
	return Attempt{Kind: "read", Client: client, Key: key, Value: value, Start: start, End: end, Try: 1}
}

func unknown(client int, value string, start, end int64) Attempt {
	attempt := wrote(client, value, start, end)
	attempt.Error, attempt.Unknown = "deadline exceeded", true
	return attempt
}

func refused(client int, value string, start, end int64) Attempt {
	attempt := wrote(client, value, start, end)
	attempt.Error = "no leader"
	return attempt
}

// judged is what the program says about a record.
func judged(t *testing.T, attempts []Attempt) verdict {
	path := filepath.Join(t.TempDir(), "record")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := json.NewEncoder(file)
	out.Encode(Look{Kind: "look", Endpoint: "a"})
	out.Encode(Members{Kind: "members", Voters: []string{"a"}})
	for _, attempt := range attempts {
		out.Encode(attempt)
	}
	file.Close()
	history, err := readHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return judge(history)
}

func TestHistories(t *testing.T) {
	for name, check := range map[string]struct {
		attempts []Attempt
		want     string
	}{
		"reads return the last write": {[]Attempt{
			read(9, "", 0, 1), wrote(1, "a", 2, 3), read(9, "a", 4, 5), wrote(2, "b", 6, 7), read(9, "b", 8, 9),
		}, "yes"},
		"writes at the same time take effect in any order": {[]Attempt{
			wrote(1, "a", 0, 10), wrote(2, "b", 0, 10), read(8, "b", 2, 4), read(9, "a", 11, 12),
		}, "yes"},
		"a read that returns an overwritten value is refused": {[]Attempt{
			wrote(1, "a", 0, 1), wrote(2, "b", 2, 3), read(9, "a", 4, 5),
		}, "no"},
		"an acknowledged write that is gone is refused": {[]Attempt{
			wrote(1, "a", 0, 1), read(9, "", 2, 3),
		}, "no"},
		"a value that nobody wrote is refused": {[]Attempt{
			wrote(1, "a", 0, 1), read(9, "z", 2, 3),
		}, "no"},
		"two readers that see two writes in opposite orders are refused": {[]Attempt{
			wrote(1, "a", 0, 10), wrote(2, "b", 0, 10),
			read(8, "a", 11, 12), read(9, "b", 13, 14),
		}, "no"},
		"a write without an answer may happen later": {[]Attempt{
			wrote(1, "a", 0, 1), unknown(2, "b", 2, 3), read(9, "a", 4, 5), read(9, "b", 6, 7),
		}, "yes"},
		"a write without an answer happens once": {[]Attempt{
			wrote(1, "a", 0, 1), unknown(2, "b", 2, 3), read(9, "b", 4, 5), read(9, "a", 6, 7),
		}, "no"},
		"a write without an answer may never happen": {[]Attempt{
			wrote(1, "a", 0, 1), unknown(2, "b", 2, 3), read(9, "a", 4, 5),
		}, "yes"},
		"a write that was refused never happens": {[]Attempt{
			wrote(1, "a", 0, 1), refused(2, "b", 2, 3), read(9, "b", 4, 5),
		}, "no"},
	} {
		if found := judged(t, check.attempts); found.Linearizable != check.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestWhatWasProved(t *testing.T) {
	found := judged(t, []Attempt{
		wrote(1, "a", 0, 10), wrote(2, "b", 5, 15), read(1, "b", 20, 21), read(2, "b", 22, 23), read(9, "b", 24, 25),
	})
	if found.ReadsOfOthers != 2 || found.OverlappingWrites != 1 || found.Keys != 1 {
		t.Errorf("%+v", found)
	}
}

func TestClientsMeet(t *testing.T) {
	shared := &registers{}
	// One writer is far ahead of everybody else: all are at the same registers.
	for number := range 10 * registerCount * writesPerRegister {
		shared.toWrite(number)
	}
	if last := shared.toRead(0); last != "register/0/9" {
		t.Errorf("a slow reader reads %s", last)
	}
	if next := shared.toWrite(0); next != "register/0/10" {
		t.Errorf("a slow writer writes %s", next)
	}
}

// played is a history of three writers and three readers, who all use one register of a perfect store: each request takes
// effect at some moment between its start and its end, and the answers of some writes are lost.
func played(seed int64, requests int) []Attempt {
	random := rand.New(rand.NewSource(seed))
	type effect struct {
		at      int64
		attempt *Attempt
	}
	var effects []effect
	var all []*Attempt
	for client := range 6 {
		clock := random.Int63n(1000)
		for number := range requests {
			end := clock + 1 + random.Int63n(2000)
			at := clock + random.Int63n(end-clock+1)
			attempt := read(client, "", clock, end)
			if client < 3 {
				attempt = wrote(client, fmt.Sprintf("%d-%d/1", client, number), clock, end)
				if random.Intn(20) == 0 {
					attempt.Error, attempt.Unknown = "deadline exceeded", true
					// Carried out late, or never.
					at += random.Int63n(20_000)
				}
			}
			all = append(all, &attempt)
			if !attempt.Unknown || random.Intn(2) == 0 {
				effects = append(effects, effect{at, &attempt})
			}
			clock = end + random.Int63n(500)
		}
	}
	slices.SortStableFunc(effects, func(a, b effect) int { return int(a.at - b.at) })
	value := ""
	for _, each := range effects {
		if each.attempt.Kind == "write" {
			value = each.attempt.Value
		} else {
			each.attempt.Value = value
		}
	}
	history := make([]Attempt, len(all))
	for at, attempt := range all {
		history[at] = *attempt
	}
	return history
}

func TestHistoriesOfManyClients(t *testing.T) {
	for seed := range int64(20) {
		history := played(seed, writesPerRegister/3)
		found := judged(t, history)
		if found.Linearizable != "yes" || found.ReadsOfOthers < 100 || found.OverlappingWrites < 50 {
			t.Fatalf("seed %d: %+v", seed, found)
		}
		// One reader sees once what was first written, long after.
		for at := range history {
			if each := &history[at]; each.Kind == "read" && each.Start > 50_000 {
				each.Value = history[0].Value
				break
			}
		}
		if found := judged(t, history); found.Linearizable != "no" {
			t.Fatalf("seed %d, with one stale read: %+v", seed, found)
		}
	}
}
