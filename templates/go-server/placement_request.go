package main

// PlacementRequest is the body of POST /v1/placements: the one place that decides which data leaves this server.
type PlacementRequest struct {
	ClientID  string    `json:"client_id"`
	SessionID string    `json:"session_id"`
	JobType   string    `json:"job_type"`
	SlotHint  SlotHint  `json:"slot_hint"`
	Overrides Overrides `json:"overrides"`
	Prompt    *Prompt   `json:"prompt,omitempty"`
}

type SlotHint struct {
	Position  string `json:"position"`
	MaxWidth  int    `json:"max_width,omitempty"`
	MaxHeight int    `json:"max_height,omitempty"`
}

type Overrides struct {
	AllowedFormats   []string `json:"allowed_formats"`
	NativeTemplateID string   `json:"native_template_id,omitempty"`
}

type Prompt struct {
	Topic string `json:"topic,omitempty"`
	Text  string `json:"text,omitempty"`
}

type surface struct {
	hint      SlotHint
	overrides Overrides
}

var jobTypes = []string{"chat", "code", "image", "voice", "agent"}

// The slot position of each kind of work, and the formats that suit it.
var surfaces = map[string]surface{
	"chat":  {SlotHint{Position: "below"}, Overrides{AllowedFormats: []string{"native", "banner"}}},
	"code":  {SlotHint{Position: "sidebar", MaxWidth: 300, MaxHeight: 250}, Overrides{AllowedFormats: []string{"banner"}}},
	"image": {SlotHint{Position: "between", MaxWidth: 640}, Overrides{AllowedFormats: []string{"clip"}}},
	"voice": {SlotHint{Position: "above"}, Overrides{AllowedFormats: []string{"banner", "native"}}},
	"agent": {SlotHint{Position: "inline"}, Overrides{AllowedFormats: []string{"native"}, NativeTemplateID: "list_item"}},
}

// Turn is what the page sends: the kind of work, and the user's prompt.
type Turn struct {
	JobType string `json:"job_type"`
	Prompt  Prompt `json:"prompt"`
}

// Request returns the placement request of a turn; false when the page names no job type.
//
// The topic goes along only with consent to semantic targeting, the text of the prompt only with consent to share it.
func (t Turn) Request(clientID, sessionID string, purposes Purposes) (PlacementRequest, bool) {
	surface, known := surfaces[t.JobType]
	if !known {
		return PlacementRequest{}, false
	}
	request := PlacementRequest{
		ClientID: clientID, SessionID: sessionID, JobType: t.JobType, SlotHint: surface.hint, Overrides: surface.overrides,
	}
	var shared Prompt
	if purposes.SemanticTargeting {
		shared.Topic = truncate(t.Prompt.Topic, 200)
	}
	if purposes.PromptShared {
		shared.Text = truncate(t.Prompt.Text, 8_000)
	}
	if shared != (Prompt{}) {
		request.Prompt = &shared
	}
	return request, true
}

// truncate returns the first characters of a text.
func truncate(text string, characters int) string {
	if runes := []rune(text); len(runes) > characters {
		return string(runes[:characters])
	}
	return text
}
