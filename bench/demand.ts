/**
 * Ten thousand campaigns from a file: what a placement costs with them, beside the seeded market, in turn, in time of the
 * processor, with its client: other programs do not count.
 * `node bench/demand.ts`. Fails above a tenth more.
 */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSandbox } from '#sandbox/index.ts'
import { median } from './processes.ts'

const campaigns = 10_000
const rounds = 21
const calls = 100
const most = 1.1

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-demand-'))
try {
  copyFileSync(new URL('../fixtures/test-assets/banner-300x250.png', import.meta.url), join(folder, 'own.png'))
  const file = join(folder, 'demand.yaml')
  writeFileSync(file, writeCampaigns())
  const started = performance.now()
  await using large = await startSandbox({ demand: file, rate_limit: 'off' })
  console.log(`${campaigns.toLocaleString('en')} campaigns: started in ${Math.round(performance.now() - started)} ms`)
  await using seeded = await startSandbox({ rate_limit: 'off' })
  const times = { large: [] as number[], seeded: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.seeded.push(await place(seeded.url, round))
    times.large.push(await place(large.url, round))
  }
  const [own, usual] = [median(times.large), median(times.seeded)]
  console.log(
    `placement: ${own.toFixed(3)} ms, seeded market ${usual.toFixed(3)} ms: ${(own / usual).toFixed(2)} of it`,
  )
  if (own / usual > most) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function writeCampaigns(): string {
  const lines = Array.from({ length: campaigns }, (_, number) => {
    const topics = number % 10 === 0 ? '[]' : `[topic-${number % 100}]`
    const start = `  - { sponsor_name: Own ${number}, click_url: "https://own-${number}.example/", `
    return `${start}price_cpm: ${10 + (number % 97) / 10}, topics: ${topics}, creatives: [{ file: own.png }] }`
  })
  return `campaigns:\n${lines.join('\n')}\n`
}

/** Resolves to the milliseconds of processor that a placement takes, in the mean of a round. */
async function place(url: string, round: number): Promise<number> {
  const started = process.cpuUsage()
  for (let call = 0; call < calls; call++) {
    const response = await fetch(`${url}/v1/placements`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk_test_sandbox_demo' },
      body: JSON.stringify({
        ...{ client_id: 'proj_demo', session_id: `s${round}-${call}`, job_type: 'chat' },
        prompt: { topic: call % 2 === 0 ? 'coffee' : `topic-${call % 100}` },
        consent: { semantic_targeting: true },
      }),
    })
    if (!response.ok) throw new Error(await response.text())
    await response.arrayBuffer()
  }
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000 / calls
}
