<?php
/** Starts PHP's own web server. It is for development: in production, point yours to public/index.php. */

declare(strict_types=1);

use App\Settings;
use App\SettingsError;

require __DIR__ . '/app/autoload.php';

Settings::loadFile(__DIR__ . '/.env');
try {
    $settings = Settings::read(getenv());
} catch (SettingsError $error) {
    fwrite(STDERR, "{$error->getMessage()}\n");
    exit(1);
}
$address = "127.0.0.1:{$settings->port}";
$probe = @stream_socket_server("tcp://$address", $_, $problem);
if ($probe === false) {
    fwrite(STDERR, "$problem: port {$settings->port}. Set PORT to another one, such as 3001.\n");
    exit(1);
}
fclose($probe);

fwrite(STDOUT, "http://localhost:{$settings->port} with placements of {$settings->baseUrl}\n");
// A request that waits, for a decision or for Retry-After, must not stop the others.
putenv('PHP_CLI_SERVER_WORKERS=' . (getenv('PHP_CLI_SERVER_WORKERS') ?: 4));
$command = [PHP_BINARY, '-S', $address, '-t', __DIR__ . '/public', __DIR__ . '/public/index.php'];
$server = proc_open($command, [STDIN, STDOUT, STDERR], $pipes);
exit($server === false ? 1 : proc_close($server));
