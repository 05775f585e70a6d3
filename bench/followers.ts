/**
 * The cost of event followers: placements per second with 0, 10 and 500 of them, in turn, and the remaining share.
 * `node bench/followers.ts [bin/svc.js]`. The followers read in a separate process.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { loadPlacements } from './load.ts'
import { median } from './processes.ts'
import { sandboxCommand, startServer } from './server.ts'

const rounds = 5
const placements = 1_500
const counts = [0, 10, 500] as const

if (process.send !== undefined) await follow(process.argv[2]!, Number(process.argv[3]))
else await measure()

async function measure(): Promise<void> {
  const [, ...rest] = sandboxCommand
  const server = await startServer([process.argv[2] ?? 'bin/svc.js', ...rest])
  const rates = new Map<number, number[]>(counts.map((count) => [count, []]))
  try {
    await loadPlacements(server.url, placements)
    for (let round = 0; round < rounds; round++) {
      for (const count of counts) {
        const followers = fork(import.meta.filename, [server.url, String(count)])
        await once(followers, 'message')
        const { per_second, failures } = await loadPlacements(server.url, placements)
        if (failures > 0) throw new Error(`${failures} placements failed`)
        rates.get(count)!.push(per_second)
        followers.kill()
        await once(followers, 'exit')
      }
    }
    const alone = rates.get(0)!
    for (const [count, all] of rates) {
      const share = median(all.map((rate, round) => rate / alone[round]!))
      const text = `${String(count).padStart(4)} followers  ${median(all).toFixed(0).padStart(6)} placements/s`
      console.log(
        `${text}  ${(100 * share).toFixed(0).padStart(4)} % of those without  ${server.memory().toFixed(0)} MB`,
      )
    }
  } finally {
    await server.stop()
  }
}

/** Opens the streams, reports when all of them are connected, and reads until it is stopped. */
async function follow(url: string, count: number): Promise<void> {
  await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<void>((resolve, reject) => {
          request(`${url}/_sandbox/events`, { agent: false }, (response) => {
            response.once('data', () => resolve())
            response.on('data', () => {})
          })
            .on('error', reject)
            .end()
        }),
    ),
  )
  process.send?.('connected')
  setInterval(() => {}, 1_000)
}
