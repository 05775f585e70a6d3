<?php
/** Every request that is not for a file of this folder. */

declare(strict_types=1);

use App\Routes;
use App\Service;
use App\Settings;

$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$isFile = $path !== '/' && !str_ends_with($path, '.php') && is_file(__DIR__ . $path);
if (PHP_SAPI === 'cli-server' && $isFile) {
    return false;
}

require __DIR__ . '/../app/autoload.php';

// Errors go to the log, never into a response.
ini_set('display_errors', '0');
ini_set('log_errors', '1');

if ($path === '/') {
    readfile(__DIR__ . '/index.html');
} else {
    $settings = Settings::read(getenv());
    (new Routes($settings, new Service($settings)))->respond($_SERVER['REQUEST_METHOD'], $path);
}
