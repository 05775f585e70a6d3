require "securerandom"
require "set"

# The user: a random session in a cookie, and the consent of that session.
class Session
  attr_reader :id, :slot_ids
  # The service's snapshot of consent. Nil: nothing is known, so nothing is permitted.
  attr_accessor :consent

  def initialize
    @id = SecureRandom.hex(16)
    # Slots requested in this session; nobody else may poll them.
    @slot_ids = Set.new
  end

  # The consent while it is granted and has not expired; nil otherwise, in which case nothing is requested.
  def granted_consent(now_ms)
    known = consent
    known if known && known["lifecycle_state"] == "granted" && known["expires_at_ms"] > now_ms
  end
end

# Sessions by their id, kept in memory, the oldest dropped first. In production, use your own session store.
class Sessions
  MAX_SESSIONS = 10_000

  def initialize
    @sessions = {}
    @lock = Mutex.new
  end

  def find(id) = @lock.synchronize { @sessions[id] }

  def start
    session = Session.new
    @lock.synchronize do
      @sessions[session.id] = session
      @sessions.shift if @sessions.size > MAX_SESSIONS
    end
    session
  end
end
