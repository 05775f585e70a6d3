# Turns the page's request into the service's: the one place that decides which data leaves this server.
module PlacementRequest
  # The slot position of each kind of work, and the formats that suit it.
  SURFACES = {
    "chat" => { slot_hint: { position: "below" }, overrides: { allowed_formats: %w[native banner] } },
    "code" => {
      slot_hint: { position: "sidebar", max_width: 300, max_height: 250 },
      overrides: { allowed_formats: %w[banner] }
    },
    "image" => { slot_hint: { position: "between", max_width: 640 }, overrides: { allowed_formats: %w[clip] } },
    "voice" => { slot_hint: { position: "above" }, overrides: { allowed_formats: %w[banner native] } },
    "agent" => {
      slot_hint: { position: "inline" },
      overrides: { allowed_formats: %w[native], native_template_id: "list_item" }
    }
  }.freeze
  JOB_TYPES = SURFACES.keys.freeze

  # The body of POST /v1/placements, or nil when the page names no job type.
  #
  # The topic goes along only with consent to semantic targeting, the text of the prompt only with consent to share it.
  def self.build(body, client_id:, session_id:, purposes:)
    job_type = body["job_type"]
    return unless SURFACES.key?(job_type)

    given = body["prompt"].is_a?(Hash) ? body["prompt"] : {}
    topic, text = given.values_at("topic", "text")
    prompt = {}
    prompt[:topic] = topic[0, 200] if purposes["semantic_targeting"] == true && topic.is_a?(String)
    prompt[:text] = text[0, 8_000] if purposes["prompt_shared"] == true && text.is_a?(String)
    request = { client_id: client_id, session_id: session_id, job_type: job_type, **SURFACES[job_type] }
    prompt.empty? ? request : { **request, prompt: prompt }
  end
end
