package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"testing"
)

// The sandbox that `svc exec` started.
var settings Settings

func TestMain(m *testing.M) {
	var err error
	if settings, err = ReadSettings(os.Getenv); err != nil {
		fmt.Fprintf(os.Stderr, "%v. The tests need a sandbox: npx --no svc-sandbox exec -- go test -count=1 ./...\n", err)
		os.Exit(1)
	}
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// reply has the fields of all routes' responses, combined.
type reply struct {
	Status int         `json:"-"`
	Header http.Header `json:"-"`

	SlotID    string `json:"slot_id"`
	State     string `json:"status"`
	Placement *struct {
		AssetToken  string `json:"asset_token"`
		AdLabelText string `json:"ad_label_text"`
	} `json:"placement"`
	Decision struct {
		Fill         bool   `json:"fill"`
		NoFillReason string `json:"no_fill_reason"`
	} `json:"decision"`
	Consent  Consent `json:"authoritative_consent"`
	Accepted bool    `json:"accepted"`
	Error    string  `json:"error"`
}

// record has what is read of the sandbox's control plane.
type record struct {
	Count       int    `json:"count"`
	RequestBody string `json:"request_body"`
	Items       []struct {
		Event string `json:"event"`
	} `json:"items"`
}

// visitor is a browser with its own cookies, at a server of its own.
type visitor struct {
	t      *testing.T
	url    string
	client http.Client
}

// visit returns two visitors of one server: most tests need one.
func visit(t *testing.T) (visitor, visitor) {
	server := httptest.NewServer(NewServer(settings))
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		control(t, "DELETE", "faults", nil)
		control(t, "DELETE", "scenarios", nil)
	})
	newVisitor := func() visitor {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return visitor{t, server.URL, http.Client{Jar: jar}}
	}
	return newVisitor(), newVisitor()
}

// consenting returns a visitor who allowed sponsored suggestions, and these purposes.
func consenting(t *testing.T, purposes Purposes) visitor {
	visitor, _ := visit(t)
	visitor.grant(purposes)
	return visitor
}

func (v visitor) grant(purposes Purposes) {
	v.t.Helper()
	answer := v.post("/api/consent", object{
		"decision":           "granted",
		"semantic_targeting": purposes.SemanticTargeting,
		"prompt_shared":      purposes.PromptShared,
	})
	equal(v.t, answer.Consent.LifecycleState, "granted")
}

func (v visitor) get(path string) reply {
	v.t.Helper()
	return v.call(http.MethodGet, path, nil)
}

func (v visitor) post(path string, body any) reply {
	v.t.Helper()
	return v.call(http.MethodPost, path, body)
}

func (v visitor) call(method, path string, body any) (answer reply) {
	v.t.Helper()
	response := call(v.t, &v.client, method, v.url+path, body, &answer)
	answer.Status, answer.Header = response.StatusCode, response.Header
	return answer
}

// object is the JSON object of a request.
type object map[string]any

// control calls the control plane of the sandbox: the requests that it received, and the faults to inject.
func control(t *testing.T, method, path string, body object) (answer record) {
	t.Helper()
	if body == nil && method != http.MethodGet {
		body = object{}
	}
	response := call(t, http.DefaultClient, method, settings.BaseURL+"/_sandbox/"+path, body, &answer)
	if response.StatusCode >= 400 {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	return answer
}

// call sends a body as JSON, and reads the response into answer.
func call(t *testing.T, client *http.Client, method, url string, body, answer any) *http.Response {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodGet {
		content = nil
	}
	request, err := http.NewRequest(method, url, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		t.Fatalf("%s %s: %s: %v", method, url, response.Status, err)
	}
	return response
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
