package app;

import static app.Expect.same;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What needs no service. */
final class UnitTest {
    private UnitTest() {}

    /** Returns the tests by what they show. */
    static Map<String, RunTests.Test> tests() {
        var tests = new LinkedHashMap<String, RunTests.Test>();
        tests.put("a 429 waits as Retry-After says, and is final without", UnitTest::waitsAsTold);
        tests.put("a missing setting and a key of the wrong kind are named", UnitTest::namesSettings);
        tests.put("JSON is read and written as it was, and anything else refused", UnitTest::readsJson);
        return tests;
    }

    private static void waitsAsTold() {
        var later = Map.of("retry-after", "Sat, 31 Jan 2026 12:00:03 GMT", "date", "Sat, 31 Jan 2026 12:00:00 GMT");
        same(Duration.ofSeconds(2), wait(429, Map.of("retry-after", "2")));
        same(Duration.ofSeconds(3), wait(429, later));
        same(null, wait(429, Map.of()));
        same(null, wait(429, Map.of("retry-after", "soon")));
        same(null, wait(429, Map.of("retry-after", "3600")));
        same(null, wait(400, Map.of("retry-after", "1")));
        same(Duration.ofMillis(500), Beacons.retryAfter(Answer.parse(503, "{}", Map.of()), 2));
    }

    private static Duration wait(int status, Map<String, String> headers) {
        return Beacons.retryAfter(Answer.parse(status, "{}", headers), 1);
    }

    private static void namesSettings() {
        var complete = new LinkedHashMap<>(Map.of("SVC_BASE_URL", "http://127.0.0.1:4010", "SVC_CLIENT_ID", "proj_demo"));
        same("SVC_SECRET_KEY not set. Try: cp .env.example .env, or npm run dev", problem(complete));
        complete.put("SVC_SECRET_KEY", "pk_test_sandbox_demo");
        same("SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser.", problem(complete));
    }

    private static String problem(Map<String, String> environment) {
        try {
            return Settings.read(environment).toString();
        } catch (SettingsException error) {
            return error.getMessage();
        }
    }

    private static void readsJson() {
        var text = "{\"a\":[1,-2.50,true,null,{}],\"b\":\"\\u0000 \\\\ \\\" é 😀\"}";
        same(text, Json.write(Json.parseObject(text)));
        same("\n/é", Json.parseObject(" {\"a\" : \"\\n\\/\\u00e9\"} ").get("a"));
        for (var wrong : List.of("", "{", "{\"a\":1,}", "{\"a\":01}", "{a:1}", "[1]", "{} {}", "{\"a\":\"\n\"}", "{\"a\":tru}",
                "{\"a\":\"\\u12\"}", "{\"a\":1e9999}", "[".repeat(100_000))) {
            try {
                throw new AssertionError(wrong + " was read as " + Json.parseObject(wrong));
            } catch (Json.Malformed error) {
                same(false, error.getMessage().isEmpty());
            }
        }
    }
}
