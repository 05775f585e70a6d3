/** Whole processes, timed from spawn to exit, or to their ready line. */
import { spawn } from 'node:child_process'
import { startServer } from './server.ts'

const runs = 15
const starts = 7

/**
 * Milliseconds of each run of several command lines, by name. They take turns, after a round that fills the caches, so
 * any other load on the computer affects all of them.
 */
export async function commandTimes<Name extends string>(
  commands: Readonly<Record<Name, readonly string[]>>,
  env: Record<string, string> = {},
): Promise<Record<Name, number[]>> {
  const names = Object.keys(commands) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let run = -1; run < runs; run++) {
    for (const name of names) {
      const time_ms = await once(commands[name], env)
      if (run >= 0) times[name].push(time_ms)
    }
  }
  return times
}

/** Milliseconds from spawn to ready of each start, after one that fills the caches. */
export async function readyTimes(command: readonly string[]): Promise<number[]> {
  const times: number[] = []
  for (let start = -1; start < starts; start++) {
    const server = await startServer(command)
    await server.stop()
    if (start >= 0) times.push(server.ready_ms)
  }
  return times
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function once(args: readonly string[], env: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now()
    const child = spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, ...env } })
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - started)
      else reject(new Error(`${args.join(' ')} ended with ${code}`))
    })
  })
}
