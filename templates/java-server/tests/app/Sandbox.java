package app;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;

/** The sandbox that svc exec started: the requests it received, and the faults to inject. */
final class Sandbox {
    static final Settings SETTINGS = Settings.read(System.getenv());
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private Sandbox() {}

    /** Calls the control plane. */
    static Map<String, Object> control(String method, String path, Map<String, Object> body) throws Exception {
        var content = method.equals("GET") ? null : Json.write(body);
        return Json.parseObject(send(method, SETTINGS.baseUrl() + "/_sandbox/" + path, content, "").body());
    }

    /** Sends a request with a JSON text, or with nothing when it is null. */
    static HttpResponse<String> send(String method, String url, String json, String cookie)
            throws IOException, InterruptedException {
        var body = json == null ? BodyPublishers.noBody() : BodyPublishers.ofString(json);
        var request = HttpRequest.newBuilder(URI.create(url)).method(method, body).header("Cookie", cookie);
        if (json != null) request.header("Content-Type", "application/json");
        return CLIENT.send(request.build(), BodyHandlers.ofString());
    }
}
