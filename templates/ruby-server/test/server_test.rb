# The server against a sandbox: `npm test` starts one for it.
class ServerTest < Minitest::Test
  def teardown
    Sandbox.control("DELETE", "faults")
    Sandbox.control("DELETE", "scenarios")
  end

  def test_every_job_type_gets_a_labelled_placement
    PlacementRequest::JOB_TYPES.each do |job_type|
      answer = consenting.post("/api/placement", { job_type: job_type })
      assert_equal 200, answer.status, job_type
      assert answer.body["decision"]["fill"], job_type
      refute_empty answer.body["placement"]["ad_label_text"], job_type
    end
  end

  def test_without_consent_nothing_is_requested
    count = -> { Sandbox.control("POST", "requests/count", { method: "POST", path: "/v1/placements" })["count"] }
    before = count.call
    answer = Visitor.new.post("/api/placement", { job_type: "chat" })
    assert_equal 200, answer.status
    assert_equal "consent_not_granted", answer.body["decision"]["no_fill_reason"]
    assert_equal before, count.call
  end

  def test_a_denial_and_an_expiry_permit_nothing
    visitor = consenting
    visitor.post("/api/consent", { decision: "denied", semantic_targeting: true })
    assert_equal "consent_not_granted", place(visitor)["decision"]["no_fill_reason"]
    session = Session.new
    session.consent = { "lifecycle_state" => "granted", "expires_at_ms" => 1_000 }
    assert_nil session.granted_consent(1_000)
    assert_equal session.consent, session.granted_consent(999)
  end

  def test_a_withdrawal_holds_also_when_the_service_cannot_be_reached
    visitor = consenting
    Sandbox.control("POST", "faults", { path: "/v1/consent", status: 503 })
    assert_equal 503, visitor.post("/api/consent", { decision: "withdrawn" }).status
    assert_equal "consent_not_granted", place(visitor)["decision"]["no_fill_reason"]
  end

  def test_topic_and_text_leave_the_server_as_far_as_was_consented_to
    assert_nil sent_prompt(consenting)
    assert_equal({ "topic" => "coffee" }, sent_prompt(consenting(semantic_targeting: true)))
    assert_equal ["text"], sent_prompt(consenting(prompt_shared: true)).keys
  end

  def test_a_no_fill_is_an_answer_like_any_other
    visitor = consenting
    Sandbox.control("POST", "scenarios/no_fill")
    answer = visitor.post("/api/placement", { job_type: "chat" })
    assert_equal 200, answer.status
    assert_nil answer.body["placement"]
    assert_equal false, answer.body["decision"]["fill"]
  end

  def test_a_pending_decision_is_polled_by_its_own_session_only
    Sandbox.control("POST", "scenarios/pending_then_ready")
    visitor = consenting
    first = place(visitor)
    assert_equal "pending", first["status"]
    path = "/api/placement?slot_id=#{first["slot_id"]}&wait_ms=3000"
    assert_equal 404, consenting.get(path).status
    second = visitor.get(path).body
    assert_equal "ready", second["status"]
    assert second["decision"]["fill"]
  end

  def test_an_error_goes_to_the_page_with_its_retry_after_and_is_not_repeated_here
    visitor = consenting(semantic_targeting: true)
    Sandbox.control("POST", "faults", { path: "/v1/placements", status: 429, retry_after_s: 7, times: 1 })
    answer = visitor.post("/api/placement", { job_type: "voice", prompt: { topic: "limits" } })
    assert_equal [429, "7"], [answer.status, answer.headers["retry-after"]]
    assert_equal 200, visitor.post("/api/placement", { job_type: "chat" }).status
  end

  def test_a_service_that_cannot_be_read_is_a_502
    visitor = consenting(semantic_targeting: true)
    %w[reset truncate garble].each do |effect|
      Sandbox.control("POST", "faults", { path: "/v1/placements", effect: effect, times: 1 })
      # Each is another request: the same one would be repeated without a pause.
      answer = visitor.post("/api/placement", { job_type: "chat", prompt: { topic: "to #{effect}" } })
      assert_equal [502, "no_answer"], [answer.status, answer.body["error"]], effect
    end
  end

  def test_beacons_are_forwarded_once_each_and_again_after_a_429_with_retry_after
    visitor = consenting
    placed = visitor.post("/api/placement", { job_type: "agent" }).body
    slot_id = placed["slot_id"]
    beacon = { slot_id: slot_id, asset_token: placed["placement"]["asset_token"], not_a_field: 1,
               measurements: { visible_ratio: 1, visible_ms: 1_000 } }
    Sandbox.control("POST", "faults", { path: "/v1/beacons", status: 429, retry_after_s: 1, times: 1 })
    %w[render visible].each do |event|
      seen = { beacon_id: "#{slot_id}:#{event}", event: event, occurred_at_ms: (Time.now.to_f * 1_000).to_i }
      assert visitor.post("/api/beacons", { **beacon, **seen }).body["accepted"]
    end
    items = Sandbox.control("GET", "beacons?slot_id=#{slot_id}")["items"]
    assert_equal %w[render visible], items.map { |item| item["event"] }.sort
  end

  def test_bad_requests_are_the_callers_mistakes
    visitor = consenting
    assert_equal 400, visitor.post("/api/placement", { job_type: "song" }).status
    assert_equal 400, visitor.post("/api/consent", { decision: "perhaps" }).status
    assert_equal 400, visitor.post("/api/consent", ["granted"]).status
    assert_equal 413, visitor.post("/api/consent", { decision: "x" * Server::MAX_BODY }).status
    assert_equal 404, visitor.get("/api/placement?slot_id=slot_unknown").status
    assert_equal 404, visitor.get("/api/nothing").status
  end

  private

  def consenting(**purposes)
    Visitor.new.tap do |visitor|
      answer = visitor.post("/api/consent", { decision: "granted", **purposes })
      assert_equal "granted", answer.body["authoritative_consent"]["lifecycle_state"]
    end
  end

  def place(visitor) = visitor.post("/api/placement", { job_type: "chat" }).body

  # The prompt as the sandbox received it: of a text, it stores only that there was one.
  def sent_prompt(visitor)
    prompt = { topic: "coffee", text: "Which grinder?" }
    answer = visitor.post("/api/placement", { job_type: "chat", prompt: prompt })
    exchange = Sandbox.control("GET", "requests/#{answer.headers["x-request-id"]}")
    JSON.parse(exchange["request_body"])["prompt"]
  end
end

class SettingsTest < Minitest::Test
  def test_what_is_missing_is_named
    complete = { "SVC_BASE_URL" => "http://a/", "SVC_CLIENT_ID" => "b", "SVC_SECRET_KEY" => "sk_c" }
    assert_equal ["http://a", 3000], Settings.read(complete).to_h.values_at(:base_url, :port)
    refute_includes Settings.read(complete).inspect, "sk_c"
    assert_match(/\ASVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY not set/, problem({}))
    assert_match(/not a secret key/, problem({ **complete, "SVC_SECRET_KEY" => "pk_test_sandbox_demo" }))
    assert_match(/PORT is not a port: "many"/, problem({ **complete, "PORT" => "many" }))
  end

  def problem(environment) = assert_raises(Settings::Error) { Settings.read(environment) }.message
end

class RetryTest < Minitest::Test
  def test_a_429_waits_as_retry_after_says_and_is_final_without
    later = { "retry-after" => "Sat, 31 Jan 2026 12:00:03 GMT", "date" => "Sat, 31 Jan 2026 12:00:00 GMT" }
    assert_equal 2, wait(429, { "retry-after" => "2" })
    assert_equal 3, wait(429, later)
    assert_nil wait(429)
    assert_nil wait(429, { "retry-after" => "3600" })
    assert_nil wait(429, { "retry-after" => "soon" })
    assert_nil wait(400, { "retry-after" => "1" })
    assert_equal 0.5, wait(503, {}, 2)
  end

  def wait(status, headers = {}, attempt = 1) = Beacons.retry_after(Answer.new(status, {}, headers), attempt)
end
