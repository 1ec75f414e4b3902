package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// worker is one client with one request at a time.
type worker struct {
	settings
	client    *clientv3.Client
	id        int
	tick      time.Duration
	registers *registers
}

// each runs a request at every tick, and a late one at once.
func (w *worker) each(ctx context.Context, request func(number int)) {
	ticker := time.NewTicker(w.tick)
	defer ticker.Stop()
	for number := 0; ctx.Err() == nil; number++ {
		request(number)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// log starts a write at every tick, whether the last one is answered or not: so what is measured is how long no write
// succeeds, not how long one client waits.
func (w *worker) log(ctx context.Context) []string {
	var acknowledged []string
	var mu sync.Mutex
	var writing sync.WaitGroup
	w.each(ctx, func(number int) {
		key := fmt.Sprintf("%s%d/%09d", logPrefix, w.id, number)
		writing.Go(func() {
			if w.put(key, "x") {
				mu.Lock()
				defer mu.Unlock()
				acknowledged = append(acknowledged, key)
			}
		})
	})
	writing.Wait()
	return acknowledged
}

func (w *worker) overwrite(ctx context.Context) {
	w.each(ctx, func(number int) {
		w.put(w.registers.toWrite(number), fmt.Sprintf("%d-%d", w.id, number))
	})
}

func (w *worker) read(ctx context.Context) {
	w.each(ctx, func(number int) { w.get(w.registers.toRead(number)) })
}

func (w *worker) put(key, value string) bool {
	return w.twice(Attempt{Kind: "write", Key: key}, func(ctx context.Context, attempt *Attempt) error {
		// The retry is another write: both may be carried out.
		attempt.Value = fmt.Sprintf("%s/%d", value, attempt.Try)
		_, err := w.client.Put(ctx, key, attempt.Value)
		return err
	})
}

func (w *worker) get(key string) bool {
	return w.twice(Attempt{Kind: "read", Key: key}, func(ctx context.Context, attempt *Attempt) error {
		attempt.Value = ""
		answer, err := w.client.Get(ctx, key)
		if err == nil && len(answer.Kvs) > 0 {
			attempt.Value = string(answer.Kvs[0].Value)
		}
		return err
	})
}

// readAll ends the history of every register that exists.
func (w *worker) readAll(ctx context.Context) {
	answer, err := w.client.Get(ctx, "register/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return
	}
	for _, pair := range answer.Kvs {
		w.get(string(pair.Key))
	}
}

// twice makes a request as a user would: with a timeout, and a second time a moment later if the first failed. A leader
// that hands over refuses a write at once, while the other members still forward writes to it, which it drops: a retry
// without a pause meets the same hand-over.
func (w *worker) twice(attempt Attempt, send func(context.Context, *Attempt) error) bool {
	attempt.Client = w.id
	for attempt.Try = 1; attempt.Try <= 2; attempt.Try++ {
		ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
		attempt.Start = w.record.now()
		err := send(ctx, &attempt)
		attempt.End = w.record.now()
		cancel()
		attempt.Error, attempt.Unknown = "", false
		if err != nil {
			attempt.Error = err.Error()
			attempt.Unknown = attempt.Kind == "write" && !isRefused(err)
		}
		w.record.add(attempt)
		if err == nil {
			return true
		}
		if attempt.Try == 1 {
			time.Sleep(w.pause)
		}
	}
	return false
}

// isRefused: the error proves that the request was not carried out.
func isRefused(err error) bool {
	switch err {
	case rpctypes.ErrNoLeader, rpctypes.ErrNotCapable, rpctypes.ErrStopped, rpctypes.ErrNoSpace:
		return err != rpctypes.ErrStopped
	}
	code := status.Code(err)
	return code == codes.InvalidArgument || code == codes.PermissionDenied || code == codes.ResourceExhausted
}
