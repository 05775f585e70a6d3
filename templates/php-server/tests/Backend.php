<?php
/** This backend under test, in PHP's own web server on a free port, and the sandbox that svc exec started. */

declare(strict_types=1);

namespace Tests;

use App\Settings;

final class Backend
{
    /** @var resource */
    private $process;
    public readonly string $url;
    private readonly string $log;

    public function __construct()
    {
        $this->log = (string) tempnam(sys_get_temp_dir(), 'php-server-');
        $public = dirname(__DIR__) . '/public';
        $output = ['file', $this->log, 'a'];
        $command = [PHP_BINARY, '-S', '127.0.0.1:0', '-t', $public, "$public/index.php"];
        $this->process = proc_open($command, [1 => $output, 2 => $output], $pipes);
        while (preg_match('/\((http:\S+)\) started/', (string) file_get_contents($this->log), $match) !== 1) {
            if (!proc_get_status($this->process)['running']) {
                throw new \RuntimeException("The web server has ended:\n{$this->log()}");
            }
            usleep(10_000);
        }
        $this->url = $match[1];
    }

    public function stop(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
        unlink($this->log);
    }

    /** Returns what the web server has logged. */
    public function log(): string
    {
        return (string) file_get_contents($this->log);
    }

    /** Calls the control plane of the sandbox: the requests it received, and the faults to inject. */
    public static function control(string $method, string $path, mixed $body = null): mixed
    {
        $content = $method !== 'GET' && $body === null ? new \stdClass() : $body;
        return Reply::to($method, Settings::read(getenv())->baseUrl . "/_sandbox/$path", $content)->body;
    }
}
