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
const firstMs = performance.now() - started
const tail = terminal.pid()
let memoryMb = 0
let keyMs = 0
let otherMs = 0
while (shownBy(terminal) < beacons) {
  terminal.type('?')
  keyMs = Math.max(keyMs, await timed(() => until(() => says(terminal, 'this help'))))
  terminal.type('q')
  await until(() => shownBy(terminal) > 0)
  otherMs = Math.max(otherMs, await timed(() => fetch(`${sandbox.url}/_sandbox/livez`).then((answer) => answer.text())))
  memoryMb = Math.max(memoryMb, residentMemory(tail))
}
const wholeMs = performance.now() - started
memoryMb = Math.max(memoryMb, residentMemory(tail))
console.log(`first on the screen  ${firstMs.toFixed(0)} ms after the start`)
console.log(`all on the screen    ${wholeMs.toFixed(0)} ms`)
console.log(`a key waited         ${keyMs.toFixed(0)} ms at most`)
console.log(`another's request    ${otherMs.toFixed(0)} ms at most`)
console.log(`memory of the tail   ${memoryMb.toFixed(0)} MB at most`)
await quit(terminal)
await sandbox.stop()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
