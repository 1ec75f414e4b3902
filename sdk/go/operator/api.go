package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
)

// object is what the operator reads of any object.
type object struct {
	Metadata struct {
		Name, Namespace   string
		UID               string `json:"uid"`
		ResourceVersion   string
		Generation        int64
		DeletionTimestamp string
		Labels            map[string]string
		Annotations       map[string]string
		OwnerReferences   []struct {
			UID        string `json:"uid"`
			Controller bool
		}
	} `json:"metadata"`
	Spec struct {
		Replicas int
		Image    string
		Args     []string
	}
	Status status
	Data   map[string]string
}

// isOf: only what belongs to an object may be changed on its behalf. Another pod can have the name of an instance.
func (o object) isOf(owner object) bool {
	for _, reference := range o.Metadata.OwnerReferences {
		if reference.Controller && reference.UID == owner.Metadata.UID && reference.UID != "" {
			return true
		}
	}
	return false
}

type status struct {
	raw map[string]any
}

func (s *status) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.raw) }

func (s status) isReady() bool {
	conditions, _ := s.raw["conditions"].([]any)
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Ready" && condition["status"] == "True" {
			return true
		}
	}
	return false
}

// isCrashed: a container does not run.
func (s status) isCrashed() bool {
	containers, _ := s.raw["containerStatuses"].([]any)
	for _, each := range containers {
		container, _ := each.(map[string]any)
		if state, ok := container["state"].(map[string]any); ok && state["waiting"] != nil {
			return true
		}
	}
	return false
}

// isSaid: every field of the status is there already.
func isSaid(before map[string]any, wanted map[string]any) bool {
	text, err := json.Marshal(wanted)
	if err != nil {
		return false
	}
	var next map[string]any
	if json.Unmarshal(text, &next) != nil {
		return false
	}
	return includes(before, next)
}

func includes(before, next map[string]any) bool {
	for key, value := range next {
		inner, isObject := value.(map[string]any)
		if has, ok := before[key].(map[string]any); isObject && ok {
			if !includes(has, inner) {
				return false
			}
		} else if !reflect.DeepEqual(before[key], value) {
			return false
		}
	}
	return true
}

type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.message) }

func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}

const (
	accountFolder  = "/var/run/secrets/kubernetes.io/serviceaccount"
	requestTimeout = 10 * time.Second
	maxAnswerBytes = 64 << 20
)

type api struct {
	server string
	// token is read for each request: Kubernetes renews it.
	token  func() string
	client *http.Client
}

func connect(server, tokenFile string) (*api, error) {
	if server != "" {
		return &api{server, fileReader(tokenFile), &http.Client{Timeout: requestTimeout}}, nil
	}
	ca, err := os.ReadFile(accountFolder + "/ca.crt")
	if err != nil {
		return nil, fmt.Errorf("not in a pod, so -server is needed: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	token := fileReader(accountFolder + "/token")
	host := os.Getenv("KUBERNETES_SERVICE_HOST") + ":" + os.Getenv("KUBERNETES_SERVICE_PORT")
	return &api{"https://" + host, token, &http.Client{Timeout: requestTimeout, Transport: transport}}, nil
}

func fileReader(file string) func() string {
	return func() string {
		text, _ := os.ReadFile(file)
		return strings.TrimSpace(string(text))
	}
}

func path(apiVersion, plural, namespace string) string {
	group := "/api/" + apiVersion
	if strings.Contains(apiVersion, "/") {
		group = "/apis/" + apiVersion
	}
	if namespace == "" {
		return group + "/" + plural
	}
	return group + "/namespaces/" + namespace + "/" + plural
}

func (a *api) get(ctx context.Context, apiVersion, plural, namespace, name string) (found object, err error) {
	err = a.send(ctx, http.MethodGet, path(apiVersion, plural, namespace)+"/"+name, "", nil, &found)
	return found, err
}

func (a *api) list(ctx context.Context, apiVersion, plural, namespace string) ([]object, error) {
	var found struct{ Items []object }
	err := a.send(ctx, http.MethodGet, path(apiVersion, plural, namespace), "", nil, &found)
	return found.Items, err
}

func (a *api) create(ctx context.Context, apiVersion, plural, namespace string, body any) error {
	return a.send(ctx, http.MethodPost, path(apiVersion, plural, namespace), "application/json", body, nil)
}

func (a *api) patch(ctx context.Context, apiVersion, plural, namespace, name string, body any) error {
	return a.send(ctx, http.MethodPatch, path(apiVersion, plural, namespace)+"/"+name, "application/merge-patch+json", body, nil)
}

// delete removes exactly this object: another one of the same name stays. It is not an error if it is gone.
func (a *api) delete(ctx context.Context, apiVersion, plural string, what object) error {
	options := map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]any{"uid": what.Metadata.UID},
	}
	at := path(apiVersion, plural, what.Metadata.Namespace) + "/" + what.Metadata.Name
	err := a.send(ctx, http.MethodDelete, at, "application/json", options, nil)
	if isStatus(err, 404) || isStatus(err, 409) {
		return nil
	}
	return err
}

func (a *api) send(ctx context.Context, method, path, contentType string, body, answer any) error {
	var text []byte
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = encoded
	}
	request, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if token := a.token(); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		var refusal struct{ Message string }
		json.Unmarshal(read, &refusal)
		return &statusError{response.StatusCode, method + " " + path + ": " + refusal.Message}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(read, answer)
}
