package app;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;

/** Starts the backend with the settings of the environment, and of .env. */
final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        var environment = new HashMap<>(Settings.readFile(Path.of(".env")));
        environment.putAll(System.getenv());
        Settings settings;
        try {
            settings = Settings.read(environment);
        } catch (SettingsException error) {
            System.err.println(error.getMessage());
            System.exit(1);
            return;
        }
        try {
            new Server(settings, settings.port()).start();
        } catch (IOException error) {
            System.err.printf("%s: port %d. Set PORT to another one, such as 3001.%n", error.getMessage(), settings.port());
            System.exit(1);
        }
        System.out.printf("http://localhost:%d with placements of %s%n", settings.port(), settings.baseUrl());
    }
}
