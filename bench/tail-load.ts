/**
 * Beacons at a steady rate, from a separate process: `node bench/tail-load.ts URL PER_SECOND SECONDS`. Prints `ready`
 * when its slots are filled, starts at the first line on stdin, and then prints the count of responses ten times per
 * second.
 */
import { once } from 'node:events'
import { Pool } from 'undici'
import { events, headers, makeTokens } from './load.ts'

const [url, perSecond, seconds] = [process.argv[2]!, Number(process.argv[3]), Number(process.argv[4])]
const amount = perSecond * seconds
const tickMs = 10
const reportIntervalMs = 100

const tokens = await makeTokens(url, Math.ceil(amount / events.length))
console.log('ready')
await once(process.stdin, 'data')
const pool = new Pool(url, { connections: 16 })
let sent = 0
let answered = 0
let failures = 0
const started = performance.now()
const telling = setInterval(tell, reportIntervalMs)
await new Promise<void>((resolve) => {
  const pacing = setInterval(() => {
    const due = Math.min(amount, Math.floor(((performance.now() - started) / 1000) * perSecond))
    while (sent < due) {
      const index = sent++
      send(index).then(() => {
        if (answered + failures === amount) resolve()
      })
    }
    if (sent === amount) clearInterval(pacing)
  }, tickMs)
})
clearInterval(telling)
tell()
await pool.close()
process.stdin.destroy()

/** The four beacons of a slot arrive one after the other, as in a turn. */
async function send(index: number): Promise<void> {
  const body = JSON.stringify({
    beacon_id: `bench-beacon-${index}`,
    asset_token: tokens[Math.floor(index / events.length)],
    event: events[index % events.length],
    occurred_at_ms: Date.now(),
    measurements: { visible_ratio: 1, visible_ms: 1_000, page_visible: true },
  })
  try {
    const answer = await pool.request({ path: '/v1/beacons', method: 'POST', headers, body })
    const text = await answer.body.text()
    if (answer.statusCode === 200) answered++
    else fail(`${answer.statusCode} ${text}`)
  } catch (error) {
    fail(String(error))
  }
}

/** Prints the first failure in full: the others are likely the same. */
function fail(reason: string): void {
  if (failures++ === 0) console.error(reason)
}

function tell(): void {
  console.log(JSON.stringify({ answered, failures, elapsed_ms: performance.now() - started }))
}
