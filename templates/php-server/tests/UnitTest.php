<?php

declare(strict_types=1);

use App\Answer;
use App\Beacons;
use App\Settings;
use App\SettingsError;

use function Tests\same;

return [
    'a 429 waits as Retry-After says, and is final without' => function (): void {
        $wait = fn (int $status, array $headers, int $attempt = 1) => Beacons::retryAfter(
            Answer::parse($status, '{}', $headers),
            $attempt,
        );
        $later = ['Retry-After' => 'Sat, 31 Jan 2026 12:00:03 GMT', 'Date' => 'Sat, 31 Jan 2026 12:00:00 GMT'];
        same(2.0, $wait(429, ['Retry-After' => '2']));
        same(3.0, $wait(429, $later));
        same(null, $wait(429, []));
        same(null, $wait(429, ['Retry-After' => 'soon']));
        same(null, $wait(429, ['Retry-After' => '3600']));
        same(null, $wait(400, ['Retry-After' => '1']));
        same(0.5, $wait(503, [], 2));
    },

    'a missing setting and a key of the wrong kind are named before anything starts' => function (): void {
        $problem = function (array $environment): string {
            try {
                Settings::read($environment);
                return 'none';
            } catch (SettingsError $error) {
                return $error->getMessage();
            }
        };
        $complete = ['SVC_BASE_URL' => 'http://127.0.0.1:4010', 'SVC_CLIENT_ID' => 'proj_demo'];
        same('SVC_SECRET_KEY not set. Try: cp .env.example .env, or npm run dev', $problem($complete));
        $wrong = [...$complete, 'SVC_SECRET_KEY' => 'pk_test_sandbox_demo'];
        same('SVC_SECRET_KEY is not a secret key (sk_...). A publishable key belongs in a browser.', $problem($wrong));
    },
];
