<?php
/** The user: a PHP session in a cookie, with the consent and the slots of that user. */

declare(strict_types=1);

namespace App;

final class Session
{
    // Behind HTTPS, add 'cookie_secure' => true.
    private const OPTIONS = [
        'name' => 'session',
        'cookie_httponly' => true,
        'cookie_samesite' => 'Lax',
        'use_strict_mode' => true,
    ];

    /** What the service knows this user by: random, and not the cookie, which is a credential. */
    public readonly string $id;

    public function __construct()
    {
        $this->id = $this->access(function (): string {
            return $_SESSION['id'] ??= bin2hex(random_bytes(16));
        });
    }

    /**
     * Returns the consent while it is granted and has not expired; null otherwise, in which case nothing is requested.
     *
     * @return array<string, mixed>|null
     */
    public function grantedConsent(int $nowMs): ?array
    {
        $consent = $this->access(fn () => $_SESSION['consent'] ?? null);
        $isGranted = ($consent['lifecycle_state'] ?? null) === 'granted' && $consent['expires_at_ms'] > $nowMs;
        return $isGranted ? $consent : null;
    }

    /**
     * Stores the service's snapshot of consent. Null: nothing is known, so nothing is permitted.
     *
     * @param array<string, mixed>|null $consent
     */
    public function setConsent(?array $consent): void
    {
        $this->access(function () use ($consent): void {
            $_SESSION['consent'] = $consent;
        });
    }

    /** Notes a slot that this session requested; nobody else may poll it. */
    public function addSlot(string $slotId): void
    {
        $this->access(function () use ($slotId): void {
            $_SESSION['slots'][$slotId] = true;
        });
    }

    public function hasSlot(string $slotId): bool
    {
        return $this->access(fn () => isset($_SESSION['slots'][$slotId]));
    }

    /** Runs `$work` with the stored session: it is locked meanwhile, so never during a call of the service. */
    private function access(\Closure $work): mixed
    {
        if (!session_start(self::OPTIONS)) {
            throw new \RuntimeException('PHP cannot store sessions: is session.save_path a folder that it can write to?');
        }
        try {
            return $work();
        } finally {
            session_write_close();
        }
    }
}
