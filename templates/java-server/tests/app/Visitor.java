package app;

import java.util.LinkedHashMap;
import java.util.Map;

/** A browser with its own cookie. */
final class Visitor {
    private final int port;
    private String cookie = "";

    Visitor(int port) {
        this.port = port;
    }

    /** Returns a visitor who has allowed ads, for these purposes. */
    static Visitor consenting(int port, String... purposes) throws Exception {
        var visitor = new Visitor(port);
        var body = new LinkedHashMap<String, Object>(Map.of("decision", "granted"));
        for (var purpose : purposes) body.put(purpose, true);
        var consent = Json.asObject(visitor.post("/api/consent", body).body().get("authoritative_consent"));
        Expect.same("granted", consent.get("lifecycle_state"));
        return visitor;
    }

    Answer get(String path) throws Exception {
        return send("GET", path, null);
    }

    Answer post(String path, Map<String, Object> body) throws Exception {
        return send("POST", path, Json.write(body));
    }

    /** Sends a request as the page does: the frame of a fill is loaded. */
    Answer send(String method, String path, String json) throws Exception {
        var response = Sandbox.send(method, "http://127.0.0.1:" + port + path, json, cookie);
        cookie = response.headers().firstValue("set-cookie").map(value -> value.split(";")[0]).orElse(cookie);
        var headers = new LinkedHashMap<String, String>();
        response.headers().map().forEach((name, values) -> headers.put(name, values.get(0)));
        var isJson = response.headers().firstValue("content-type").orElse("").equals("application/json");
        var answer = Answer.parse(response.statusCode(), isJson ? response.body() : "{}", headers);
        var placement = Json.asObject(answer.body().get("placement"));
        if (Json.asObject(placement.get("render")).get("frame_url") instanceof String frameUrl) {
            Expect.same(200, Sandbox.send("GET", frameUrl, null, "").statusCode());
        }
        return answer;
    }
}
