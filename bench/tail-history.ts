/**
 * `svc beacons tail --since 10m` over a long history: 100 000 beacons of the last minutes. Prints when the screen had
 * them all, how long a key press waited, the delay of another client's request, and the memory of the
 * tail.
 */
import { loadavg } from 'node:os'
import { events, loadBeacons, makeTokens } from './load.ts'
import { residentMemory, startServer } from './server.ts'
import { openTail, quit, says, shownBy, until } from './tail-terminal.ts'

const beacons = 100_000

const sandbox = await startServer([
  ...['bin/svc.js', 'start', '-o', 'json', '-q', '--port', '0', '--db', '{db}', '--rate-limit', 'off'],
])
await loadBeacons(sandbox.url, await makeTokens(sandbox.url, beacons / events.length))
console.log(`${beacons} beacons in the database; load ${loadavg()[0]!.toFixed(1)}`)

const started = performance.now()
const terminal = await openTail(sandbox, '--since 10m')
await until(() => shownBy(terminal) > 0)
const first_ms = performance.now() - started
const tail = terminal.pid()
let memory_mb = 0
let key_ms = 0
let other_ms = 0
while (shownBy(terminal) < beacons) {
  terminal.type('?')
  key_ms = Math.max(key_ms, await timed(() => until(() => says(terminal, 'this help'))))
  terminal.type('q')
  await until(() => shownBy(terminal) > 0)
  other_ms = Math.max(
    other_ms,
    await timed(() => fetch(`${sandbox.url}/_sandbox/livez`).then((answer) => answer.text())),
  )
  memory_mb = Math.max(memory_mb, residentMemory(tail))
}
const whole_ms = performance.now() - started
memory_mb = Math.max(memory_mb, residentMemory(tail))
console.log(`first on the screen  ${first_ms.toFixed(0)} ms after the start`)
console.log(`all on the screen    ${whole_ms.toFixed(0)} ms`)
console.log(`a key waited         ${key_ms.toFixed(0)} ms at most`)
console.log(`another's request    ${other_ms.toFixed(0)} ms at most`)
console.log(`memory of the tail   ${memory_mb.toFixed(0)} MB at most`)
await quit(terminal)
await sandbox.stop()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
