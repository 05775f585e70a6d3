package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

//go:embed public
var files embed.FS

const (
	waitMs    = 1_500
	maxWaitMs = 5_000
	maxBody   = 64 * 1024
)

// The service's response headers that the page needs: when to retry, and the service's time.
var passedHeaders = []string{"Retry-After", "Date", "X-Request-Id"}

// Server has the routes. The service's responses go to the page unchanged, as render.js expects of its endpoint.
type Server struct {
	settings Settings
	service  *Service
	sessions *Sessions
	page     http.Handler
}

type route func(*Server, http.ResponseWriter, *http.Request) Answer

// From Go 1.22, http.ServeMux takes these patterns.
var routes = map[string]route{
	"GET /api/config":     (*Server).config,
	"POST /api/placement": (*Server).place,
	"GET /api/placement":  (*Server).poll,
	"POST /api/consent":   (*Server).consent,
	"POST /api/beacons":   (*Server).beacon,
}

func NewServer(settings Settings) *Server {
	public, err := fs.Sub(files, "public")
	if err != nil {
		panic(err) // The name of the folder is not a path.
	}
	return &Server{settings, NewService(settings), NewSessions(), http.FileServer(http.FS(public))}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if route, found := routes[r.Method+" "+r.URL.Path]; found {
		send(w, route(s, w, r))
	} else if strings.HasPrefix(r.URL.Path, "/api/") {
		send(w, refuse(http.StatusNotFound, "There is no such route."))
	} else {
		s.page.ServeHTTP(w, r)
	}
}

func (s *Server) config(http.ResponseWriter, *http.Request) Answer {
	return ownAnswer(http.StatusOK, map[string]any{
		"script_url": s.settings.BaseURL + "/v1/render.js", "job_types": jobTypes,
	})
}

func (s *Server) place(w http.ResponseWriter, r *http.Request) Answer {
	var turn Turn
	if refusal, ok := readBody(w, r, &turn); !ok {
		return refusal
	}
	session := s.sessions.Find(w, r)
	consent := session.GrantedConsent(time.Now())
	if consent == nil {
		return noFill("consent_not_granted")
	}
	request, known := turn.Request(s.settings.ClientID, session.ID, consent.Purposes)
	if !known {
		return refuse(http.StatusBadRequest, "job_type is one of "+strings.Join(jobTypes, ", ")+".")
	}
	answer := s.service.Post(fmt.Sprintf("/v1/placements?wait_ms=%d", waitMs), request)
	var placed struct {
		SlotID string `json:"slot_id"`
	}
	if json.Unmarshal(answer.Body, &placed) == nil && placed.SlotID != "" {
		session.AddSlot(placed.SlotID)
	}
	return answer
}

// poll asks for a decision. Pending is not no-fill: render.js polls here until it is decided.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) Answer {
	slotID := r.URL.Query().Get("slot_id")
	if !s.sessions.Find(w, r).HasSlot(slotID) {
		return refuse(http.StatusNotFound, "No slot of this session.")
	}
	wait, err := strconv.Atoi(r.URL.Query().Get("wait_ms"))
	if err != nil || wait < 0 {
		wait = 0
	} else if wait > maxWaitMs {
		wait = maxWaitMs
	}
	return s.service.Get(fmt.Sprintf("/v1/decisions/%s?wait_ms=%d", url.PathEscape(slotID), wait))
}

func (s *Server) consent(w http.ResponseWriter, r *http.Request) Answer {
	var choice struct {
		Decision string `json:"decision"`
		Purposes
	}
	if refusal, ok := readBody(w, r, &choice); !ok {
		return refusal
	}
	switch choice.Decision {
	case "granted":
	case "denied", "withdrawn":
		choice.Purposes = Purposes{}
	default:
		return refuse(http.StatusBadRequest, "decision is one of granted, denied, withdrawn.")
	}
	session := s.sessions.Find(w, r)
	// Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
	session.SetConsent(nil)
	answer := s.service.Post("/v1/consent", map[string]any{
		"client_id":  s.settings.ClientID,
		"session_id": session.ID,
		"decision":   choice.Decision,
		"purposes":   choice.Purposes,
	})
	var stored struct {
		Consent *Consent `json:"authoritative_consent"`
	}
	if answer.Status == http.StatusOK && json.Unmarshal(answer.Body, &stored) == nil {
		session.SetConsent(stored.Consent)
	}
	return answer
}

func (s *Server) beacon(w http.ResponseWriter, r *http.Request) Answer {
	var body map[string]json.RawMessage
	if refusal, ok := readBody(w, r, &body); !ok {
		return refusal
	}
	return ForwardBeacon(s.service, ReadBeacon(body))
}

// readBody reads the JSON object of a request; false, with the answer, when there is none.
func readBody(w http.ResponseWriter, r *http.Request, body any) (Answer, bool) {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("A body has at most %d bytes.", maxBody)), false
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "Send JSON, with Content-Type: application/json."), false
	}
	if err := json.Unmarshal(content, body); err != nil {
		return refuse(http.StatusBadRequest, "The body is not the JSON object of this route: "+err.Error()+"."), false
	}
	return Answer{}, true
}

func send(w http.ResponseWriter, answer Answer) {
	for _, name := range passedHeaders {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Status)
	w.Write(answer.Body)
}

// noFill returns this server's own decision, in the shape of the service's.
func noFill(reason string) Answer {
	return ownAnswer(http.StatusOK, map[string]any{
		"slot_id":   nil,
		"status":    "ready",
		"placement": nil,
		"decision":  map[string]any{"fill": false, "no_fill_reason": reason},
	})
}

// refuse returns the answer to a caller's mistake.
func refuse(status int, message string) Answer {
	return ownAnswer(status, map[string]any{"error": "validation_error", "message": message, "retryable": false})
}
