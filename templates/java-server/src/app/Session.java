package app;

import java.math.BigDecimal;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A user: what the cookie says, what the service knows this user by, their consent, and their slots. */
final class Session {
    /** The value of the cookie. It is a credential, so it goes to nobody else. */
    final String cookie;
    /** Random, for the service. */
    final String id;
    /** Slots requested in this session; nobody else may poll them. */
    final Set<String> slotIds = ConcurrentHashMap.newKeySet();
    /** The service's snapshot of consent. Null: nothing is known, so nothing is permitted. */
    volatile Map<String, Object> consent;

    Session(String cookie, String id) {
        this.cookie = cookie;
        this.id = id;
    }

    /** Returns the consent while it is granted and has not expired; null otherwise, in which case nothing is requested. */
    Map<String, Object> grantedConsent(long nowMs) {
        var known = consent;
        var isGranted = known != null
                && "granted".equals(known.get("lifecycle_state"))
                && known.get("expires_at_ms") instanceof BigDecimal expiresAtMs
                && expiresAtMs.longValue() > nowMs;
        return isGranted ? known : null;
    }
}
