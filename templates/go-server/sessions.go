package main

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

const maxSessions = 10_000

// Consent has the fields of the service's snapshot that are used here.
type Consent struct {
	LifecycleState string   `json:"lifecycle_state"`
	ExpiresAtMs    int64    `json:"expires_at_ms"`
	Purposes       Purposes `json:"purposes"`
}

type Purposes struct {
	SemanticTargeting bool `json:"semantic_targeting"`
	PromptShared      bool `json:"prompt_shared"`
}

// Session is the user: a random id in a cookie, and the consent of that session.
type Session struct {
	ID    string
	mutex sync.Mutex
	// Nil: nothing is known, so nothing is permitted.
	consent *Consent
	// Slots requested in this session; nobody else may poll them.
	slots map[string]bool
}

// GrantedConsent returns the consent while it is granted and has not expired; nil otherwise, and nothing is requested.
func (s *Session) GrantedConsent(now time.Time) *Consent {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.consent == nil || s.consent.LifecycleState != "granted" || s.consent.ExpiresAtMs <= now.UnixMilli() {
		return nil
	}
	return s.consent
}

func (s *Session) SetConsent(consent *Consent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.consent = consent
}

func (s *Session) AddSlot(slotID string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.slots[slotID] = true
}

func (s *Session) HasSlot(slotID string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.slots[slotID]
}

// Sessions are kept in memory, the oldest dropped first. In production, use your own session store.
type Sessions struct {
	mutex sync.Mutex
	byID  map[string]*Session
	ids   []string
}

func NewSessions() *Sessions {
	return &Sessions{byID: map[string]*Session{}}
}

// Find returns the session of a request's cookie, or a new one, whose cookie it sets.
func (s *Sessions) Find(w http.ResponseWriter, r *http.Request) *Session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if cookie, err := r.Cookie("session"); err == nil {
		if session, found := s.byID[cookie.Value]; found {
			return session
		}
	}
	session := &Session{ID: randomID(), slots: map[string]bool{}}
	s.byID[session.ID] = session
	s.ids = append(s.ids, session.ID)
	if len(s.ids) > maxSessions {
		delete(s.byID, s.ids[0])
		s.ids = s.ids[1:]
	}
	// Behind HTTPS, add Secure: true.
	http.SetCookie(w, &http.Cookie{
		Name: "session", Value: session.ID, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return session
}

func randomID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err) // The system has no randomness, so nothing here would be secret.
	}
	return hex.EncodeToString(id)
}
