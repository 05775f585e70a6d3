/** An agent that misbehaves, to test the harness: `node unruly.js WHAT ARGUMENT PROMPT` */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const [what, argument] = process.argv.slice(2)

const deeds = {
  /** Never ends, whatever it is asked. */
  hang() {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {})
    setInterval(() => {}, 1_000)
  },
  /** Writes to a path that is not its own. */
  outside() {
    writeFileSync(argument, 'tampered')
  },
  /** Leaves a process in a session of its own, which `argument` marks. */
  leave() {
    const script = 'setInterval(() => {}, 1_000)'
    spawn(process.execPath, ['-e', script, argument], { detached: true, stdio: 'ignore' }).unref()
  },
  /** Prints a gigabyte. */
  print() {
    const piece = 'x'.repeat(1_000_000)
    const write = (left) => left > 0 && process.stdout.write(piece, () => write(left - 1))
    write(1_000)
  },
}

deeds[what]()
