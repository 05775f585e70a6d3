package app;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Beacons of clients that do not use render.js, forwarded with this server's credential. */
final class Beacons {
    /** The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon. */
    private static final List<String> FIELDS = List.of(
            "beacon_id",
            "asset_token",
            "event",
            "occurred_at",
            "occurred_at_ms",
            "slot_id",
            "render_instance_id",
            "seq",
            "consent_revision",
            "measurements",
            "metadata");
    private static final int MAX_ATTEMPTS = 3;
    private static final Duration MAX_WAIT = Duration.ofSeconds(10);

    private Beacons() {}

    /** Returns a beacon with only the fields of a beacon; the rest of the body is dropped. */
    static Map<String, Object> read(Map<String, Object> body) {
        var beacon = new LinkedHashMap<>(body);
        beacon.keySet().retainAll(FIELDS);
        return beacon;
    }

    /**
     * Sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After.
     *
     * <p>The same beacon_id counts once, so a retry cannot bill twice. Any other 4xx is final.
     */
    static Answer forward(Service service, Map<String, Object> beacon) {
        for (var attempt = 1; ; attempt++) {
            var answer = service.post("/v1/beacons", beacon);
            var wait = retryAfter(answer, attempt);
            if (wait == null || attempt == MAX_ATTEMPTS) return answer;
            try {
                Thread.sleep(wait.toMillis());
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                return answer;
            }
        }
    }

    /** Returns the time until the next attempt, or null for none. */
    static Duration retryAfter(Answer answer, int attempt) {
        if (answer.status() != 429 && answer.status() < 500) return null;
        if (!answer.headers().containsKey("retry-after")) {
            return answer.status() >= 500 ? Duration.ofMillis(250L * attempt) : null;
        }
        var wait = answer.retryAfter();
        return wait == null || wait.compareTo(MAX_WAIT) > 0 ? null : wait;
    }
}
