<?php
/** Loads the classes of this folder by their names: App\Service is Service.php. */

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    require __DIR__ . '/' . str_replace('App\\', '', $class) . '.php';
});
