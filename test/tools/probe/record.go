package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"
	"time"
)

// Attempt is one try of one request. Times are microseconds since the Unix epoch, on one monotonic clock.
type Attempt struct {
	Kind   string `json:"kind"` // "write" or "read"
	Client int    `json:"client"`
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"` // what was written, or what was read
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Try    int    `json:"try"` // 1, or 2 for the one retry that a careful user makes
	Error  string `json:"error,omitempty"`
	// Unknown: it failed, and may still have been or be carried out.
	Unknown bool `json:"unknown,omitempty"`
}

// Look is what one member said about itself at one moment.
type Look struct {
	Kind     string `json:"kind"` // "look"
	Endpoint string `json:"endpoint"`
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
	ID       string `json:"id,omitempty"`
	Leader   string `json:"leader,omitempty"` // "0": it knows none
	Term     uint64 `json:"term,omitempty"`
	Learner  bool   `json:"learner,omitempty"`
	Version  string `json:"version,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Members is who votes, as etcd itself lists them; written when it changes.
type Members struct {
	Kind   string   `json:"kind"` // "members"
	Start  int64    `json:"start"`
	End    int64    `json:"end"`
	Voters []string `json:"voters"`
}

// Recorder writes one line for each record.
type Recorder struct {
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	base time.Time
}

func newRecorder(path string) (*Recorder, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Recorder{file: file, out: bufio.NewWriterSize(file, 1<<16), base: time.Now()}, nil
}

// now never jumps, whatever happens to the wall clock.
func (r *Recorder) now() int64 {
	return r.base.UnixMicro() + time.Since(r.base).Microseconds()
}

func (r *Recorder) add(record any) {
	line, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Write(line)
	r.out.WriteByte('\n')
}

func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Flush()
}

func (r *Recorder) close() error {
	r.flush()
	return r.file.Close()
}
