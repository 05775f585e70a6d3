package app;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The service's URL, and this project's key for it. */
record Settings(String baseUrl, String clientId, String secretKey, int port) {
    private static final List<String> REQUIRED = List.of("SVC_BASE_URL", "SVC_CLIENT_ID", "SVC_SECRET_KEY");

    /** Reads the environment. Throws SettingsException with everything that is missing, before anything starts. */
    static Settings read(Map<String, String> environment) {
        var missing = REQUIRED.stream().filter(name -> environment.getOrDefault(name, "").isEmpty()).toList();
        if (!missing.isEmpty()) {
            var names = String.join(", ", missing);
            throw new SettingsException(names + " not set. Try: cp .env.example .env, or npm run dev");
        }
        var secretKey = environment.get("SVC_SECRET_KEY");
        if (!secretKey.startsWith("sk_")) {
            throw new SettingsException(
                    "SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser.");
        }
        var port = environment.getOrDefault("PORT", "3000");
        if (!port.matches("\\d{1,5}") || Integer.parseInt(port) > 65_535) {
            throw new SettingsException("PORT is \"" + port + "\", not a port such as 3000.");
        }
        var baseUrl = environment.get("SVC_BASE_URL").replaceAll("/+$", "");
        return new Settings(baseUrl, environment.get("SVC_CLIENT_ID"), secretKey, Integer.parseInt(port));
    }

    /** Returns the NAME=value lines of a file; none when there is no such file. */
    static Map<String, String> readFile(Path path) throws IOException {
        var values = new HashMap<String, String>();
        for (var line : Files.isRegularFile(path) ? Files.readAllLines(path) : List.<String>of()) {
            var separator = line.indexOf('=');
            if (separator > 0 && !line.stripLeading().startsWith("#")) {
                var value = line.substring(separator + 1).strip().replaceAll("^[\"']|[\"']$", "");
                values.put(line.substring(0, separator).strip(), value);
            }
        }
        return values;
    }

    /** Without the key, which must not get into a log. */
    @Override
    public String toString() {
        return "Settings[" + baseUrl + ", " + clientId + "]";
    }
}
