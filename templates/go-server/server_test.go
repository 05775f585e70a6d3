// The server against a sandbox: `npm test` starts one for it.
package main

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestEveryJobTypeGetsALabelledPlacement(t *testing.T) {
	for _, jobType := range jobTypes {
		t.Run(jobType, func(t *testing.T) {
			answer := consenting(t, Purposes{}).post("/api/placement", object{"job_type": jobType})
			equal(t, answer.Status, 200)
			equal(t, answer.Decision.Fill, true)
			if answer.Placement == nil || answer.Placement.AdLabelText == "" {
				t.Error("there is no labelled placement")
			}
		})
	}
}

func TestWithoutConsentNothingIsRequested(t *testing.T) {
	count := func() int {
		return control(t, "POST", "requests/count", object{"method": "POST", "path": "/v1/placements"}).Count
	}
	before := count()
	visitor, _ := visit(t)
	answer := visitor.post("/api/placement", object{"job_type": "chat"})
	equal(t, answer.Status, 200)
	equal(t, answer.Decision.NoFillReason, "consent_not_granted")
	equal(t, count(), before)
}

func TestADenialAndAnExpiryPermitNothing(t *testing.T) {
	visitor := consenting(t, Purposes{})
	visitor.post("/api/consent", object{"decision": "denied", "semantic_targeting": true})
	equal(t, visitor.post("/api/placement", object{"job_type": "chat"}).Decision.NoFillReason, "consent_not_granted")

	now := time.Now()
	session := Session{consent: &Consent{LifecycleState: "granted", ExpiresAtMs: now.UnixMilli()}}
	equal(t, session.GrantedConsent(now), nil)
	equal(t, session.GrantedConsent(now.Add(-time.Second)), session.consent)
}

func TestAWithdrawalHoldsAlsoWhenTheServiceCannotBeReached(t *testing.T) {
	visitor := consenting(t, Purposes{})
	control(t, "POST", "faults", object{"path": "/v1/consent", "status": 503})
	equal(t, visitor.post("/api/consent", object{"decision": "withdrawn"}).Status, 503)
	equal(t, visitor.post("/api/placement", object{"job_type": "chat"}).Decision.NoFillReason, "consent_not_granted")
}

func TestTopicAndTextLeaveTheServerAsFarAsWasConsentedTo(t *testing.T) {
	// Returns whether the sandbox received each; of a text, it stores only that there was one.
	sent := func(purposes Purposes) (topic, text bool) {
		answer := consenting(t, purposes).post("/api/placement", object{
			"job_type": "chat", "prompt": object{"topic": "coffee", "text": "Which grinder?"},
		})
		body := control(t, "GET", "requests/"+answer.Header.Get("X-Request-Id"), nil).RequestBody
		equal(t, strings.Contains(body, `"job_type":"chat"`), true)
		return strings.Contains(body, `"topic":"coffee"`), strings.Contains(body, `"text":`)
	}
	for _, purposes := range []Purposes{{}, {SemanticTargeting: true}, {PromptShared: true}, {true, true}} {
		topic, text := sent(purposes)
		equal(t, topic, purposes.SemanticTargeting)
		equal(t, text, purposes.PromptShared)
	}
}

func TestANoFillIsAnAnswerLikeAnyOther(t *testing.T) {
	visitor := consenting(t, Purposes{})
	control(t, "POST", "scenarios/no_fill", nil)
	answer := visitor.post("/api/placement", object{"job_type": "chat"})
	equal(t, answer.Status, 200)
	equal(t, answer.Placement, nil)
	equal(t, answer.Decision.Fill, false)
	equal(t, answer.Decision.NoFillReason == "", false)
}

func TestAPendingDecisionIsPolledByItsOwnSessionOnly(t *testing.T) {
	visitor, other := visit(t)
	visitor.grant(Purposes{})
	control(t, "POST", "scenarios/pending_then_ready", nil)
	first := visitor.post("/api/placement", object{"job_type": "chat"})
	equal(t, first.State, "pending")
	path := fmt.Sprintf("/api/placement?slot_id=%s&wait_ms=3000", first.SlotID)
	equal(t, other.get(path).Status, 404)
	second := visitor.get(path)
	equal(t, second.State, "ready")
	equal(t, second.Decision.Fill, true)
}

func TestAnErrorGoesToThePageWithItsRetryAfterAndIsNotRepeatedHere(t *testing.T) {
	visitor := consenting(t, Purposes{SemanticTargeting: true})
	control(t, "POST", "faults", object{"path": "/v1/placements", "status": 429, "retry_after_s": 7, "times": 1})
	answer := visitor.post("/api/placement", object{"job_type": "voice", "prompt": object{"topic": "limits"}})
	equal(t, answer.Status, 429)
	equal(t, answer.Header.Get("Retry-After"), "7")
	equal(t, visitor.post("/api/placement", object{"job_type": "chat"}).Status, 200)
}

func TestAServiceThatCannotBeReadIsA502(t *testing.T) {
	visitor := consenting(t, Purposes{SemanticTargeting: true})
	for _, effect := range []string{"reset", "truncate", "garble"} {
		t.Run(effect, func(t *testing.T) {
			control(t, "POST", "faults", object{"path": "/v1/placements", "effect": effect, "times": 1})
			// Each is another request: the same one would be repeated without a pause.
			answer := visitor.post("/api/placement", object{"job_type": "chat", "prompt": object{"topic": "to " + effect}})
			equal(t, answer.Status, 502)
			equal(t, answer.Error, "no_answer")
		})
	}
}

func TestBeaconsAreForwardedOnceEachAndAgainAfterA429WithRetryAfter(t *testing.T) {
	visitor := consenting(t, Purposes{})
	placed := visitor.post("/api/placement", object{"job_type": "agent"})
	control(t, "POST", "faults", object{"path": "/v1/beacons", "status": 429, "retry_after_s": 1, "times": 1})
	for _, event := range []string{"render", "visible"} {
		equal(t, visitor.post("/api/beacons", object{
			"beacon_id":      placed.SlotID + ":" + event,
			"slot_id":        placed.SlotID,
			"asset_token":    placed.Placement.AssetToken,
			"event":          event,
			"occurred_at_ms": time.Now().UnixMilli(),
			"measurements":   object{"visible_ratio": 1, "visible_ms": 1000},
			"not_a_field":    1,
		}).Accepted, true)
	}
	var events []string
	for _, item := range control(t, "GET", "beacons?slot_id="+placed.SlotID, nil).Items {
		events = append(events, item.Event)
	}
	sort.Strings(events)
	equal(t, strings.Join(events, " "), "render visible")
}

func TestA429WaitsAsRetryAfterSaysAndIsFinalWithout(t *testing.T) {
	date := "Sat, 31 Jan 2026 12:00:00 GMT"
	for _, each := range []struct {
		status, attempt  int
		retryAfter, date string
		wait             time.Duration
		again            bool
	}{
		{429, 1, "2", "", 2 * time.Second, true},
		{429, 1, "Sat, 31 Jan 2026 12:00:03 GMT", date, 3 * time.Second, true},
		{429, 1, "", "", 0, false},
		{429, 1, "3600", "", 0, false},
		{429, 1, "soon", date, 0, false},
		{400, 1, "1", "", 0, false},
		{503, 2, "", "", 500 * time.Millisecond, true},
	} {
		header := http.Header{}
		header.Set("Retry-After", each.retryAfter)
		header.Set("Date", each.date)
		wait, again := retryAfter(Answer{Status: each.status, Header: header}, each.attempt)
		equal(t, again, each.again)
		if again {
			equal(t, wait, each.wait)
		}
	}
}

func TestBadRequestsAreTheCallersMistakes(t *testing.T) {
	visitor := consenting(t, Purposes{})
	equal(t, visitor.post("/api/placement", object{"job_type": "song"}).Status, 400)
	equal(t, visitor.post("/api/consent", object{"decision": "perhaps"}).Status, 400)
	equal(t, visitor.post("/api/consent", []string{"granted"}).Status, 400)
	equal(t, visitor.post("/api/consent", object{"decision": strings.Repeat("x", maxBody)}).Status, 413)
	equal(t, visitor.get("/api/placement?slot_id=slot_unknown").Status, 404)
	equal(t, visitor.get("/api/nothing").Status, 404)
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, each := range []struct {
		environment map[string]string
		problem     string
	}{
		{nil, "SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY not set"},
		{map[string]string{"SVC_SECRET_KEY": "pk_test_sandbox_demo"}, "not a secret key"},
		{map[string]string{"PORT": "many"}, "PORT is not a port"},
	} {
		_, err := ReadSettings(func(name string) string {
			if value, found := each.environment[name]; found || each.environment == nil {
				return value
			}
			return map[string]string{"SVC_BASE_URL": "http://a", "SVC_CLIENT_ID": "b", "SVC_SECRET_KEY": "sk_c"}[name]
		})
		if err == nil || !strings.Contains(err.Error(), each.problem) {
			t.Errorf("got %v, want %q", err, each.problem)
		}
	}
}
