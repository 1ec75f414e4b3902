package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// leaders asks the application who leads, in JSON: GET answers {"leader": "x-0"}, empty while there is none, and POST of
// {"leader": "x-1"} asks that instance to lead.
type leaders struct {
	url    string
	client *http.Client
}

// leader is the leading instance of the whole application; empty: it has none, or none at this moment.
func (l leaders) leader(ctx context.Context) (string, error) {
	if l.url == "" {
		return "", nil
	}
	var answer struct{ Leader string }
	return answer.Leader, l.send(ctx, http.MethodGet, nil, &answer)
}

func (l leaders) move(ctx context.Context, to string) error {
	return l.send(ctx, http.MethodPost, map[string]string{"leader": to}, nil)
}

func (l leaders) send(ctx context.Context, method string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, l.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := l.client.Do(request)
	if err != nil {
		return fmt.Errorf("the application does not tell its leader: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("the application answered %s %s with %s", method, l.url, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
