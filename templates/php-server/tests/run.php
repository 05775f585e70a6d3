<?php
/** Runs the tests of this folder against a sandbox: `npm test` starts one for them. A warning of PHP fails its test. */

declare(strict_types=1);

use Tests\Backend;

require __DIR__ . '/../app/autoload.php';
foreach (['Reply', 'Backend', 'Visitor', 'expectations'] as $file) {
    require __DIR__ . "/$file.php";
}

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    // What @ silences is expected.
    return (error_reporting() & $level) === 0 ? false : throw new ErrorException($message, 0, $level, $file, $line);
});

$backend = new Backend();
$tests = [...require __DIR__ . '/BackendTest.php', ...require __DIR__ . '/UnitTest.php'];
$failed = 0;
try {
    foreach ($tests as $title => $test) {
        try {
            $test($backend);
            echo "ok      $title\n";
        } catch (Throwable $error) {
            $failed++;
            echo "FAILED  $title\n{$error->getMessage()}\n{$error->getTraceAsString()}\n";
        }
        Backend::control('DELETE', 'faults');
        Backend::control('DELETE', 'scenarios');
    }
    if ($failed > 0) {
        echo "\nThe web server logged:\n{$backend->log()}";
    }
} finally {
    $backend->stop();
}
echo count($tests) - $failed, " passed, $failed failed\n";
exit($failed > 0 ? 1 : 0);
