/**
 * Runs Python with the arguments that follow: `node python.mjs -m app`. Its name differs between computers: `python` in a
 * virtual environment and on Windows, `python3` on Linux and macOS, `py -3` with the launcher of Windows.
 */
import { spawn, spawnSync } from 'node:child_process'
import { constants } from 'node:os'

const names = [['python'], ['python3'], ['py', '-3']]
const check = 'import sys; sys.exit(sys.version_info < (3, 11))'

const found = names.find(([name, ...args]) => spawnSync(name, [...args, '-c', check], { stdio: 'ignore' }).status === 0)
if (found === undefined) {
  console.error('There is no Python 3.11 or later on the PATH. Install it from https://www.python.org/downloads/')
  process.exit(1)
}

const [name, ...args] = found
// A terminal and svc send their signals to Python too. Otherwise one is passed on, and Python ends when it is ready.
// Before Python starts: a signal between would end this program alone.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => setTimeout(() => python.kill(signal), 500).unref())
}
const python = spawn(name, [...args, ...process.argv.slice(2)], { stdio: 'inherit' })
python.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal]
})
