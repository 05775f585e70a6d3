require "json"
require "sinatra/base"
require_relative "beacons"
require_relative "placement_request"
require_relative "service"
require_relative "sessions"

# The routes. The service's responses go to the page unchanged, as render.js expects of its endpoint.
class Server < Sinatra::Base
  WAIT_MS = 1_500
  MAX_WAIT_MS = 5_000
  MAX_BODY = 64 * 1024
  DECISIONS = %w[granted denied withdrawn].freeze
  # The service's response headers that the page needs: when to retry, and the service's time.
  PASSED_HEADERS = %w[Retry-After Date X-Request-Id].freeze

  set :public_folder, File.expand_path("../public", __dir__)
  # An error is a 500 for the page and its cause on stderr, whatever RACK_ENV says.
  set :environment, :production
  set :dump_errors, true

  def initialize(settings, log: $stderr)
    super(nil)
    @config = settings
    @service = Service.new(settings, log: log)
    @sessions = Sessions.new
  end

  get("/") { send_file File.join(settings.public_folder, "index.html") }

  get "/api/config" do
    pass_on 200, { script_url: "#{@config.base_url}/v1/render.js", job_types: PlacementRequest::JOB_TYPES }
  end

  post "/api/placement" do
    body = read_body
    session = current_session
    consent = session.granted_consent(Time.now.to_f * 1_000)
    return no_fill("consent_not_granted") if consent.nil?

    ids = { client_id: @config.client_id, session_id: session.id }
    wanted = PlacementRequest.build(body, **ids, purposes: consent["purposes"])
    refuse 400, "job_type is one of #{PlacementRequest::JOB_TYPES.join(", ")}." if wanted.nil?
    answer = @service.post("/v1/placements?wait_ms=#{WAIT_MS}", wanted)
    session.slot_ids << answer.body["slot_id"] if answer.body["slot_id"]
    pass_on(*answer)
  end

  # Pending is not no-fill: render.js polls here until it is decided.
  get "/api/placement" do
    slot_id = params["slot_id"]
    refuse 404, "No slot of this session." unless current_session.slot_ids.include?(slot_id)
    wait_ms = params["wait_ms"].to_i.clamp(0, MAX_WAIT_MS)
    pass_on(*@service.get("/v1/decisions/#{slot_id}?wait_ms=#{wait_ms}"))
  end

  post "/api/consent" do
    body = read_body
    session = current_session
    decision = body["decision"]
    refuse 400, "decision is one of #{DECISIONS.join(", ")}." unless DECISIONS.include?(decision)
    # Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
    session.consent = nil
    names = %w[semantic_targeting prompt_shared]
    purposes = names.to_h { |name| [name, decision == "granted" && body[name] == true] }
    ids = { client_id: @config.client_id, session_id: session.id }
    answer = @service.post("/v1/consent", { **ids, decision: decision, purposes: purposes })
    session.consent = answer.body["authoritative_consent"] if answer.status == 200
    pass_on(*answer)
  end

  post("/api/beacons") { pass_on(*Beacons.forward(@service, Beacons.read(read_body))) }

  error(Sinatra::NotFound) { refuse 404, "There is no such route." }

  private

  # The JSON object of this request.
  def read_body
    refuse 413, "A body has at most #{MAX_BODY} bytes." if request.content_length.to_i > MAX_BODY
    refuse 415, "Send JSON, with Content-Type: application/json." unless request.media_type == "application/json"
    body = JSON.parse(request.body.read(MAX_BODY).to_s)
    body.is_a?(Hash) ? body : refuse(400, "The body is not a JSON object.")
  rescue JSON::ParserError
    refuse 400, "The body is not JSON."
  end

  # The session of this request's cookie, or a new one.
  def current_session
    @sessions.find(request.cookies["session"]) || @sessions.start.tap do |session|
      # Behind HTTPS, add secure: true.
      response.set_cookie("session", value: session.id, path: "/", httponly: true, same_site: :lax)
    end
  end

  # Ends a route with a response, in the service's words or in its shape.
  def pass_on(status, body, headers = {})
    PASSED_HEADERS.each { |name| response[name] = headers[name.downcase] if headers.key?(name.downcase) }
    content_type "application/json"
    halt status, JSON.generate(body)
  end

  # This server's own decision, in the shape of the service's.
  def no_fill(reason)
    decision = { fill: false, no_fill_reason: reason }
    pass_on 200, { slot_id: nil, status: "ready", placement: nil, decision: decision }
  end

  # Ends a route with the answer to a caller's mistake.
  def refuse(status, message)
    pass_on status, { error: "validation_error", message: message, retryable: false }
  end
end
