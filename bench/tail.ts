/**
 * `svc beacons tail` under load: a sandbox that receives 2 000 beacons per second for 30 seconds from a separate
 * process, and its tail in a terminal of script(1). Prints how far the screen lagged behind the responses of the
 * sandbox, the memory of the tail, and the frames it drew. Four processes share the host: with fewer cores the load
 * itself may fall behind.
 */
import { spawn } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { createInterface } from 'node:readline'
import { median } from './processes.ts'
import { processorTime, residentMemory, sandboxCommand, startServer } from './server.ts'
import { openTail, quit, says, shownBy, until } from './tail-terminal.ts'

const perSecond = 2_000
const seconds = 30

interface Progress {
  answered: number
  failures: number
  elapsed_ms: number
}

console.log(
  `${cpus().length} cores, load before ${loadavg()[0]!.toFixed(1)}; ${perSecond} beacons a second for ${seconds} s`,
)
const sandbox = await startServer(sandboxCommand)
const load = spawn(process.execPath, ['bench/tail-load.ts', sandbox.url, String(perSecond), String(seconds)], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const ended = new Promise<void>((resolve) => load.once('close', () => resolve()))
const lines = createInterface({ input: load.stdout })[Symbol.asyncIterator]()
await lines.next()
const terminal = await openTail(sandbox)
await until(() => says(terminal, '● live'))
const tail = terminal.pid()
const before = { frames: terminal.screen.frames, tail_ms: processorTime(tail), sandbox_ms: sandbox.cpu() }

let memoryMb = 0
/** Beacons with a response that are not yet on the screen, ten times per second. */
const behind: number[] = []
let last: Progress = { answered: 0, failures: 0, elapsed_ms: 0 }
load.stdin.write('go\n')
for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
  last = JSON.parse(line.value) as Progress
  behind.push(Math.max(0, last.answered - shownBy(terminal)))
  memoryMb = Math.max(memoryMb, residentMemory(tail))
}
const answeredAt = performance.now()
await until(() => shownBy(terminal) >= last.answered)
const caughtUpMs = performance.now() - answeredAt
const totalSeconds = last.elapsed_ms / 1000
const frames = (terminal.screen.frames - before.frames) / totalSeconds
const share = (spent_ms: number) => `${((spent_ms / last.elapsed_ms) * 100).toFixed(0)} % of a core`
memoryMb = Math.max(memoryMb, residentMemory(tail))
const ms = (beacons: number) => (beacons / perSecond) * 1000
const third = Math.floor(behind.length / 3)
const first = median(behind.slice(0, third))
const final = median(behind.slice(-third))

let unmet = 0
row(
  'answered',
  `${last.answered} in ${totalSeconds.toFixed(1)} s, ${last.failures} failed`,
  `${perSecond * seconds}, none failed`,
  last.answered === perSecond * seconds,
)
row('behind, first 10 s', `${ms(first).toFixed(0)} ms`, '', true)
row('behind, last 10 s', `${ms(final).toFixed(0)} ms`, 'not growing', ms(final) <= ms(first) + 250)
row('behind, worst', `${ms(Math.max(...behind)).toFixed(0)} ms`, '', true)
row('caught up after', `${caughtUpMs.toFixed(0)} ms`, '< 1000 ms', caughtUpMs < 1_000)
row('memory of the tail', `${memoryMb.toFixed(0)} MB`, '< 250 MB', memoryMb < 250)
row('frames a second', frames.toFixed(1), '<= 15', frames <= 15.5)
row('processor, tail', share(processorTime(tail) - before.tail_ms), '', true)
row('processor, sandbox', share(sandbox.cpu() - before.sandbox_ms), '', true)
console.log(unmet === 0 ? 'Every target is met.' : `${unmet} targets are missed.`)

await quit(terminal)
await ended
await sandbox.stop()

function row(name: string, value: string, target: string, isMet: boolean): void {
  if (!isMet) unmet++
  console.log(
    `${name.padEnd(20)}${value.padEnd(36)}${target.padEnd(24)}${target === '' ? '' : isMet ? 'met' : 'MISSED'}`.trimEnd(),
  )
}
