<?php

declare(strict_types=1);

namespace Tests;

/** @throws \RuntimeException that shows both values when they differ in value or type */
function same(mixed $expected, mixed $actual): void
{
    if ($expected !== $actual) {
        $shown = array_map(fn (mixed $value) => json_encode($value, JSON_UNESCAPED_SLASHES), [$expected, $actual]);
        throw new \RuntimeException("expected {$shown[0]}\nreceived {$shown[1]}");
    }
}
