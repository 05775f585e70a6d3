/**
 * `npm run bench:walk`: how much of the source one real call executes, as files and functions, counted by the engine's
 * own coverage. The sandbox is ready before counting starts; each call is the first of its kind. As in the build, the
 * facts of the endpoints are data, and the command and the sandbox have the same version, so responses are not compared
 * with the contract.
 */
import { version } from '#text/version.ts'
import '#cli/endpoint/facts.ts'
import { Session } from 'node:inspector/promises'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { noon, startTestCli } from '#tests/cli/test-cli.ts'

const root = new URL('../', import.meta.url).href
const isListed = process.argv.includes('--list')

await using cli = await startTestCli()
await writeLocator(cli.home, { ...cli.sandbox, version, started_at_ms: noon })
const session = new Session()
session.connect()
await session.post('Profiler.enable')

const create = () => cli.svc('placements create --format clip -o json')
const beacon = (asset_token: string, event: string) =>
  fetch(`${cli.sandbox.url}/v1/beacons`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cli.sandbox.keys.secret_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ beacon_id: `walk-${event}`, asset_token, event, occurred_at_ms: noon }),
  }).then((response) => response.json())

let stdout = ''
await report('svc placements create --format clip', async () => {
  stdout = (await create()).stdout
})
const { decision } = JSON.parse(stdout) as { decision: { asset_token: string } }
await report('POST /v1/beacons', () => beacon(decision.asset_token, 'render'))
session.disconnect()

/** Prints the files and functions that ran while `call` did. */
async function report(name: string, call: () => Promise<unknown>): Promise<void> {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const files = result
    .filter(({ url }) => /^(src|sandbox)\//.test(url.replace(root, '')))
    .map(({ url, functions }) => ({
      file: url.replace(root, ''),
      functions: functions.filter(({ ranges, functionName }) => functionName !== '' && ranges[0]!.count > 0).length,
    }))
    .filter(({ functions }) => functions > 0)
    .toSorted((a, b) => a.file.localeCompare(b.file))
  const of = (folder: string) => files.filter(({ file }) => file.startsWith(folder)).length
  const functions = files.reduce((sum, file) => sum + file.functions, 0)
  console.log(`${name}: ${files.length} files (src ${of('src/')}, sandbox ${of('sandbox/')}), ${functions} functions`)
  if (isListed) for (const { file, functions } of files) console.log(`  ${file} ${functions}`)
}
