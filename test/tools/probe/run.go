package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const (
	// Each write of these keys has its own value, and they are overwritten again and again: for linearizability.
	registers = 3
	// A register gets a new name after so many writes, so that its history can be checked quickly.
	writesPerRegister = 300
	// Keys that are written once and never again: none may be missing at the end.
	logPrefix   = "log/"
	lookEvery   = 25 * time.Millisecond
	lookTimeout = time.Second
)

type settings struct {
	proxy   string
	timeout time.Duration
	pause   time.Duration
	tick    time.Duration
	record  *Recorder
}

func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	endpoints := flags.String("endpoints", "", "host:port of each member, comma-separated")
	proxy := flags.String("proxy", "", "host:port of the HTTP proxy that every connection uses; empty: none")
	out := flags.String("out", "", "file for the record")
	loggers := flags.Int("loggers", 2, "clients that write keys once")
	writers := flags.Int("writers", 1, "clients that overwrite registers")
	readers := flags.Int("readers", 2, "clients that read registers")
	tick := flags.Duration("tick", 20*time.Millisecond, "each client starts a request so often, unless one is under way")
	timeout := flags.Duration("timeout", time.Second, "of one attempt; each request is retried once")
	pause := flags.Duration("pause", 250*time.Millisecond, "between the first attempt and the retry")
	flags.Parse(args)

	record, err := newRecorder(*out)
	if err != nil {
		return err
	}
	s := settings{proxy: *proxy, timeout: *timeout, pause: *pause, tick: *tick, record: record}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	members := &members{settings: s, ctx: ctx, looking: map[string]context.CancelFunc{}}
	var working sync.WaitGroup
	acknowledged := make([][]string, *loggers)
	count := *loggers + *writers + *readers
	for at := 0; at < count; at++ {
		client, err := s.connect(split(*endpoints))
		if err != nil {
			return err
		}
		members.clients = append(members.clients, client)
		worker := &worker{settings: s, client: client, id: at}
		// They start one after the other, so that together they sample finer than each alone.
		offset := *tick * time.Duration(at) / time.Duration(count)
		working.Add(1)
		go func() {
			defer working.Done()
			time.Sleep(offset)
			switch {
			case at < *loggers:
				acknowledged[at] = worker.log(ctx)
			case at < *loggers+*writers:
				worker.overwrite(ctx)
			default:
				worker.read(ctx)
			}
		}()
	}
	members.set(split(*endpoints))
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			record.flush()
		}
	}()
	fmt.Println("started")

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if list, ok := strings.CutPrefix(lines.Text(), "endpoints "); ok {
			members.set(split(list))
		}
	}
	stop()
	working.Wait()
	err = finish(members.clients[0], record, acknowledged)
	for _, client := range members.clients {
		client.Close()
	}
	if closing := record.close(); err == nil {
		err = closing
	}
	return err
}

func split(list string) []string { return strings.Split(list, ",") }

// connect opens a client as a user would: it knows every member, and notices a dead connection by itself.
func (s settings) connect(endpoints []string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints,
		// Every failed attempt is in the record.
		Logger:               zap.NewNop(),
		DialKeepAliveTime:    2 * time.Second,
		DialKeepAliveTimeout: time.Second,
		DialOptions:          []grpc.DialOption{grpc.WithContextDialer(s.dial)},
	})
}

func (s settings) dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	if s.proxy == "" {
		return dialer.DialContext(ctx, "tcp", address)
	}
	connection, err := dialer.DialContext(ctx, "tcp", s.proxy)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		connection.SetDeadline(deadline)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ctx.Done():
			connection.Close()
		case <-done:
		}
	}()
	fmt.Fprintf(connection, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	answer, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: http.MethodConnect})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy answered %s", answer.Status)
	}
	if err != nil {
		connection.Close()
		return nil, err
	}
	connection.SetDeadline(time.Time{})
	return connection, nil
}

// members are those that clients know, each with a look at it many times a second.
type members struct {
	settings
	ctx     context.Context
	clients []*clientv3.Client
	looking map[string]context.CancelFunc
}

func (m *members) set(endpoints []string) {
	for _, client := range m.clients {
		client.SetEndpoints(endpoints...)
	}
	wanted := map[string]bool{}
	for _, endpoint := range endpoints {
		wanted[endpoint] = true
		if m.looking[endpoint] == nil {
			ctx, cancel := context.WithCancel(m.ctx)
			m.looking[endpoint] = cancel
			go m.look(ctx, endpoint)
		}
	}
	for endpoint, cancel := range m.looking {
		if !wanted[endpoint] {
			cancel()
			delete(m.looking, endpoint)
		}
	}
}

func (m *members) look(ctx context.Context, endpoint string) {
	client, err := m.connect([]string{endpoint})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		look := Look{Kind: "look", Endpoint: endpoint, Start: m.record.now()}
		asking, cancel := context.WithTimeout(ctx, lookTimeout)
		status, err := client.Status(asking, endpoint)
		cancel()
		look.End = m.record.now()
		if err != nil {
			look.Error = err.Error()
		} else {
			look.ID = fmt.Sprintf("%x", status.Header.MemberId)
			look.Leader = fmt.Sprintf("%x", status.Leader)
			look.Term, look.Learner, look.Version = status.RaftTerm, status.IsLearner, status.Version
		}
		if ctx.Err() == nil {
			m.record.add(look)
		}
		<-ticker.C
	}
}

type result struct {
	Acknowledged int      `json:"acknowledged"`
	Missing      []string `json:"missing"`
}

// finish reads back every key that was written once, and every register a last time.
func finish(client *clientv3.Client, record *Recorder, acknowledged [][]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	found := map[string]bool{}
	for from := logPrefix; ; {
		page, err := client.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(logPrefix)),
			clientv3.WithKeysOnly(), clientv3.WithLimit(10_000))
		if err != nil {
			return fmt.Errorf("the writes could not be read back: %w", err)
		}
		for _, pair := range page.Kvs {
			found[string(pair.Key)] = true
		}
		if !page.More {
			break
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
	result := result{Missing: []string{}}
	for _, keys := range acknowledged {
		result.Acknowledged += len(keys)
		for _, key := range keys {
			if !found[key] {
				result.Missing = append(result.Missing, key)
			}
		}
	}
	last := &worker{settings: settings{record: record, timeout: 30 * time.Second}, client: client, id: 1_000}
	last.readAll(ctx)
	return json.NewEncoder(os.Stdout).Encode(result)
}
