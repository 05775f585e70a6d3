<?php
/** Beacons of clients that do not use render.js, forwarded with this server's credential. */

declare(strict_types=1);

namespace App;

final class Beacons
{
    /** The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon. */
    private const FIELDS = [
        'beacon_id',
        'asset_token',
        'event',
        'occurred_at',
        'occurred_at_ms',
        'slot_id',
        'render_instance_id',
        'seq',
        'consent_revision',
        'measurements',
        'metadata',
    ];
    private const MAX_ATTEMPTS = 3;
    private const MAX_WAIT_S = 10;

    /**
     * Returns a beacon with only the fields of a beacon; the rest of `$body` is dropped.
     *
     * @param array<string, mixed> $body
     * @return array<string, mixed>
     */
    public static function read(array $body): array
    {
        return array_intersect_key($body, array_flip(self::FIELDS));
    }

    /**
     * Sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After.
     *
     * The same `beacon_id` counts once, so a retry cannot bill twice. Any other 4xx is final.
     *
     * @param array<string, mixed> $beacon
     */
    public static function forward(Service $service, array $beacon): Answer
    {
        for ($attempt = 1; ; $attempt++) {
            $answer = $service->post('/v1/beacons', $beacon);
            $waitS = self::retryAfter($answer, $attempt);
            if ($waitS === null || $attempt === self::MAX_ATTEMPTS) {
                return $answer;
            }
            usleep((int) ($waitS * 1_000_000));
        }
    }

    /** Returns the seconds until the next attempt, or null for none. */
    public static function retryAfter(Answer $answer, int $attempt): ?float
    {
        if ($answer->status !== 429 && $answer->status < 500) {
            return null;
        }
        $header = $answer->headers['retry-after'] ?? null;
        if ($header === null) {
            return $answer->status >= 500 ? $attempt * 0.25 : null;
        }
        $waitS = ctype_digit($header)
            ? (float) $header
            : self::secondsBetween($answer->headers['date'] ?? '', $header);
        return $waitS !== null && $waitS >= 0 && $waitS <= self::MAX_WAIT_S ? $waitS : null;
    }

    /** Returns the seconds from one HTTP date to another; null when either cannot be read. */
    private static function secondsBetween(string $from, string $to): ?float
    {
        [$start, $end] = array_map(
            fn (string $date) => \DateTimeImmutable::createFromFormat(DATE_RFC7231, $date),
            [$from, $to],
        );
        return $start === false || $end === false ? null : (float) ($end->getTimestamp() - $start->getTimestamp());
    }
}
