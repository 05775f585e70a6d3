package app;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sessions by their cookies, in memory. In production, use your own session store. */
final class Sessions {
    private static final int MAX_SESSIONS = 10_000;

    private final SecureRandom random = new SecureRandom();
    private final Map<String, Session> sessions = new LinkedHashMap<>();

    /** Returns the session of a cookie, or null. */
    synchronized Session find(String cookie) {
        return sessions.get(cookie);
    }

    synchronized Session begin() {
        var session = new Session(randomHex(), randomHex());
        sessions.put(session.cookie, session);
        if (sessions.size() > MAX_SESSIONS) sessions.remove(sessions.keySet().iterator().next());
        return session;
    }

    private String randomHex() {
        var bytes = new byte[16];
        random.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
