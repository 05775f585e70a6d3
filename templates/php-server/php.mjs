/**
 * Runs PHP with the arguments that follow: `node php.mjs serve.php`. It says what to install where PHP is missing or too old,
 * and ends the worker processes of PHP's web server, which outlive it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { constants } from 'node:os'

const check =
  'exit(PHP_VERSION_ID < 80200 || !ini_get("allow_url_fopen") || !function_exists("session_start") ? 1 : 0);'
if (spawnSync('php', ['-r', check], { stdio: 'ignore' }).status !== 0) {
  console.error('There is no PHP 8.2 or later on the PATH, with sessions and allow_url_fopen.')
  console.error('Install it: apt install php-cli, brew install php, or https://www.php.net/downloads')
  process.exit(1)
}

// A group of its own can be ended as a whole. Windows has no groups, and PHP has no workers there.
const isGroup = process.platform !== 'win32'
// Before PHP starts: a signal between would end this program alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(signal))
const php = spawn('php', process.argv.slice(2), { stdio: 'inherit', detached: isGroup })
php.on('exit', (code, signal) => {
  end('SIGTERM')
  process.exitCode = code ?? 128 + constants.signals[signal]
})

function end(signal) {
  try {
    process.kill(isGroup ? -php.pid : php.pid, signal)
  } catch (error) {
    // It has ended already.
    if (error.code !== 'ESRCH') throw error
  }
}
