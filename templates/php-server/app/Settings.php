<?php
/** The service's URL, and this project's key for it. */

declare(strict_types=1);

namespace App;

final readonly class Settings
{
    private const REQUIRED = ['SVC_BASE_URL', 'SVC_CLIENT_ID', 'SVC_SECRET_KEY'];

    private function __construct(
        public string $baseUrl,
        public string $clientId,
        #[\SensitiveParameter] public string $secretKey,
        public int $port,
    ) {
    }

    /**
     * Reads the environment.
     *
     * @param array<string, string> $environment
     * @throws SettingsError with everything that is missing, before anything starts
     */
    public static function read(array $environment): self
    {
        $missing = array_filter(self::REQUIRED, fn (string $name) => ($environment[$name] ?? '') === '');
        if ($missing !== []) {
            throw new SettingsError(implode(', ', $missing) . ' not set. Try: cp .env.example .env, or npm run dev');
        }
        [$baseUrl, $clientId, $secretKey] = array_map(fn (string $name) => $environment[$name], self::REQUIRED);
        if (!str_starts_with($secretKey, 'sk_')) {
            $message = 'SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser.';
            throw new SettingsError($message);
        }
        $port = $environment['PORT'] ?? '3000';
        if (!ctype_digit($port) || $port < 1 || $port > 65_535) {
            throw new SettingsError("PORT is \"$port\", not a port such as 3000.");
        }
        return new self(rtrim($baseUrl, '/'), $clientId, $secretKey, (int) $port);
    }

    /** Adds the NAME=value lines of a file to the environment; what is set there already wins. */
    public static function loadFile(string $path): void
    {
        $lines = is_file($path) ? file($path, FILE_IGNORE_NEW_LINES) : [];
        foreach ($lines as $line) {
            [$name, $value] = array_map('trim', explode('=', $line, 2)) + [1 => null];
            if ($value !== null && !str_starts_with($name, '#') && getenv($name) === false) {
                putenv("$name=" . trim($value, '"\''));
            }
        }
    }
}
