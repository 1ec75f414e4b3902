package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const (
	// Keys that are written once and never again: none may be missing at the end.
	logPrefix   = "log/"
	lookEvery   = 10 * time.Millisecond
	lookTimeout = time.Second
	// So many looks at one member may be under way: enough for a link of 80 ms. On a machine that is too busy for them,
	// answers are late, and then fewer looks are begun: many would wait for each other until all of them time out.
	maxLooks = 20
	lateLook = 400 * time.Millisecond
	// Clients learn of a new member this soon.
	listEvery = 50 * time.Millisecond
)

type settings struct {
	proxy   string
	timeout time.Duration
	pause   time.Duration
	record  *Recorder
}

func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	endpoints := flags.String("endpoints", "", "host:port of each member, comma-separated")
	proxy := flags.String("proxy", "", "host:port of the HTTP proxy that every connection uses; empty: none")
	out := flags.String("out", "", "file for the record")
	loggers := flags.Int("loggers", 2, "clients that write keys once")
	writers := flags.Int("writers", 3, "clients that overwrite registers")
	readers := flags.Int("readers", 3, "clients that read registers")
	tick := flags.Duration("tick", 16*time.Millisecond, "each logger starts a write so often")
	pace := flags.Duration("pace", 48*time.Millisecond, "each writer and reader starts a request so often, unless one is under way")
	timeout := flags.Duration("timeout", time.Second, "of one attempt; each request is retried once")
	pause := flags.Duration("pause", 250*time.Millisecond, "between the first attempt and the retry")
	flags.Parse(args)

	record, err := newRecorder(*out)
	if err != nil {
		return err
	}
	s := settings{proxy: *proxy, timeout: *timeout, pause: *pause, record: record}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	members := &members{settings: s, ctx: ctx, looking: map[string]context.CancelFunc{}}
	var working sync.WaitGroup
	acknowledged := make([][]string, *loggers)
	count := *loggers + *writers + *readers
	shared := &registers{}
	for at := 0; at < count; at++ {
		client, err := s.connect(split(*endpoints))
		if err != nil {
			return err
		}
		members.clients = append(members.clients, client)
		worker := &worker{settings: s, client: client, id: at, tick: *pace, registers: shared}
		// Loggers start evenly one after the other, so that together they sample finer than each alone; writers start
		// together, so that they meet at one key, and readers at any time between.
		var offset time.Duration
		var work func()
		switch {
		case at < *loggers:
			worker.tick = *tick
			offset = *tick * time.Duration(at) / time.Duration(*loggers)
			work = func() { acknowledged[at] = worker.log(ctx) }
		case at < *loggers+*writers:
			work = func() { worker.overwrite(ctx) }
		default:
			offset = *pace * time.Duration(at-*loggers-*writers) / time.Duration(*readers)
			work = func() { worker.read(ctx) }
		}
		working.Go(func() {
			time.Sleep(offset)
			work()
		})
	}
	members.set(split(*endpoints))
	go members.follow(ctx)
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			record.flush()
		}
	}()
	fmt.Println("started")

	io.Copy(io.Discard, os.Stdin)
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

// follow keeps clients and looks with etcd's own list, and records who votes. Without a quorum the list cannot change.
func (m *members) follow(ctx context.Context) {
	client := m.clients[0]
	said := ""
	for ticker := time.NewTicker(listEvery); ctx.Err() == nil; <-ticker.C {
		asking, cancel := context.WithTimeout(ctx, lookTimeout)
		list := Members{Kind: "members", Start: m.record.now()}
		answer, err := client.MemberList(asking)
		cancel()
		list.End = m.record.now()
		if err != nil || ctx.Err() != nil {
			continue
		}
		var all []string
		for _, member := range answer.Members {
			// One that has never started has no address for clients yet.
			for _, address := range member.ClientURLs[:min(1, len(member.ClientURLs))] {
				parsed, err := url.Parse(address)
				if err != nil {
					continue
				}
				all = append(all, parsed.Host)
				if !member.IsLearner {
					list.Voters = append(list.Voters, parsed.Host)
				}
			}
		}
		if now := fmt.Sprint(all, list.Voters); now != said && len(list.Voters) > 0 {
			said = now
			m.record.add(list)
			for _, client := range m.clients {
				client.SetEndpoints(list.Voters...)
			}
			m.set(all)
		}
	}
}

// set starts and ends looks.
func (m *members) set(endpoints []string) {
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

// look starts a look at every tick, whether the last one is answered or not: a distant member is seen as often.
func (m *members) look(ctx context.Context, endpoint string) {
	client, err := m.connect([]string{endpoint})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	room := &room{most: maxLooks}
	var looking sync.WaitGroup
	defer looking.Wait()
	for ticker := time.NewTicker(lookEvery); ctx.Err() == nil; {
		if room.enter() {
			looking.Go(func() {
				started := time.Now()
				answered := m.lookOnce(ctx, client, endpoint)
				room.leave(answered && time.Since(started) > lateLook, answered)
			})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func (m *members) lookOnce(ctx context.Context, client *clientv3.Client, endpoint string) (answered bool) {
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
	return err == nil
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
