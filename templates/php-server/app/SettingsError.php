<?php

declare(strict_types=1);

namespace App;

/** A required setting is missing from the environment. */
final class SettingsError extends \RuntimeException
{
}
