package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const (
	maxAttempts = 3
	maxWait     = 10 * time.Second
)

// The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon.
var beaconFields = []string{
	"beacon_id", "asset_token", "event", "occurred_at", "occurred_at_ms", "slot_id", "render_instance_id", "seq",
	"consent_revision", "measurements", "metadata",
}

// Beacon is one of a client that does not use render.js, forwarded with this server's credential.
type Beacon map[string]json.RawMessage

// ReadBeacon returns a beacon with only the fields of a beacon; the rest of the body is dropped.
func ReadBeacon(body map[string]json.RawMessage) Beacon {
	beacon := Beacon{}
	for _, name := range beaconFields {
		if value, found := body[name]; found {
			beacon[name] = value
		}
	}
	return beacon
}

// ForwardBeacon sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After.
//
// The same beacon_id counts once, so a retry cannot bill twice. Any other 4xx is final.
func ForwardBeacon(service *Service, beacon Beacon) Answer {
	for attempt := 1; ; attempt++ {
		answer := service.Post("/v1/beacons", beacon)
		wait, again := retryAfter(answer, attempt)
		if !again || attempt == maxAttempts {
			return answer
		}
		time.Sleep(wait)
	}
}

// retryAfter returns how long to wait for the next attempt; false for none.
func retryAfter(answer Answer, attempt int) (time.Duration, bool) {
	if answer.Status != http.StatusTooManyRequests && answer.Status < 500 {
		return 0, false
	}
	header := answer.Header.Get("Retry-After")
	if header == "" {
		return time.Duration(attempt) * 250 * time.Millisecond, answer.Status >= 500
	}
	wait, err := readWait(header, answer.Header.Get("Date"))
	return wait, err == nil && wait >= 0 && wait <= maxWait
}

// readWait reads a Retry-After: seconds, or an HTTP date, which is compared with the service's own.
func readWait(header, now string) (time.Duration, error) {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	until, err := http.ParseTime(header)
	if err != nil {
		return 0, err
	}
	from, err := http.ParseTime(now)
	return until.Sub(from), err
}
