<?php

declare(strict_types=1);

namespace App;

/** The caller's mistake. Its code is the status of the response. */
final class RequestError extends \RuntimeException
{
    public function __construct(int $status, string $message)
    {
        parent::__construct($message, $status);
    }
}
