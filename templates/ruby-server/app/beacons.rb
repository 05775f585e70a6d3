require "time"

# Beacons of clients that do not use render.js, forwarded with this server's credential.
module Beacons
  # The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon.
  FIELDS = %w[
    beacon_id asset_token event occurred_at occurred_at_ms slot_id render_instance_id seq consent_revision measurements
    metadata
  ].freeze
  MAX_ATTEMPTS = 3
  MAX_WAIT_S = 10

  # A beacon with only the fields of a beacon; the rest of `body` is dropped.
  def self.read(body) = body.slice(*FIELDS)

  # Sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After.
  #
  # The same `beacon_id` counts once, so a retry cannot bill twice. Any other 4xx is final.
  def self.forward(service, beacon)
    (1..).each do |attempt|
      answer = service.post("/v1/beacons", beacon)
      wait_s = retry_after(answer, attempt)
      return answer if wait_s.nil? || attempt == MAX_ATTEMPTS

      sleep wait_s
    end
  end

  # Seconds until the next attempt, or nil for none.
  def self.retry_after(answer, attempt)
    return if answer.status != 429 && answer.status < 500

    header = answer.headers["retry-after"]
    return (attempt * 0.25 if answer.status >= 500) if header.nil?

    wait_s = header.match?(/\A\d+\z/) ? header.to_i : seconds_until(header, answer.headers["date"])
    wait_s if wait_s&.between?(0, MAX_WAIT_S)
  end

  # Seconds from the service's `Date` header to an HTTP date; nil when either cannot be read.
  def self.seconds_until(date, now)
    Time.httpdate(date) - Time.httpdate(now.to_s)
  rescue ArgumentError
    nil
  end
end
