package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"time"
)

// Longer than the longest wait_ms, which is 5 s.
const timeout = 8 * time.Second

// Answer is a response of the service, its body as it came; our own no_answer if there was none.
type Answer struct {
	Status int
	Body   json.RawMessage
	Header http.Header
}

// Service calls the placement service: one request, one response, never an error.
type Service struct {
	settings Settings
	client   http.Client
}

func NewService(settings Settings) *Service {
	return &Service{settings: settings, client: http.Client{Timeout: timeout}}
}

func (s *Service) Get(path string) Answer {
	return s.call(http.MethodGet, path, nil)
}

// Post sends a body as JSON.
func (s *Service) Post(path string, body any) Answer {
	return s.call(http.MethodPost, path, body)
}

func (s *Service) call(method, path string, body any) Answer {
	answer, err := s.send(method, path, body)
	if err != nil {
		log.Printf("%s %s: %v. Is the service at SVC_BASE_URL? A sandbox: npx --no svc-sandbox start", method, path, err)
		return ownAnswer(http.StatusBadGateway, map[string]any{
			"error": "no_answer", "message": "The placement service sent no readable response.", "retryable": true,
		})
	}
	if answer.Status >= 400 {
		log.Printf("%s %s: %d %s", method, path, answer.Status, answer.Body)
	}
	return answer
}

func (s *Service) send(method, path string, body any) (Answer, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return Answer{}, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, s.settings.BaseURL+path, content)
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+s.settings.SecretKey)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	if json.Unmarshal(received, &map[string]json.RawMessage{}) != nil {
		return Answer{}, errors.New("the response is not a JSON object")
	}
	return Answer{response.StatusCode, received, response.Header}, nil
}

// ownAnswer returns an answer of this server, in the shape of the service's.
func ownAnswer(status int, body map[string]any) Answer {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // The caller gave what is not JSON.
	}
	return Answer{Status: status, Body: encoded, Header: http.Header{}}
}
