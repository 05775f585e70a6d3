/** The README, run as written: only the address and the way to the command line are those of this checkout. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BeaconItem } from '../../src/contract/control/beacons.ts'
import type { PlacementResponse } from '../../src/contract/v1/placements.ts'
import { observeRules } from '../../src/journal/rules/index.ts'
import { root } from '../cli/process.ts'
import { temporaryDirectory } from '../cli/test-cli.ts'
import { examples, linkedFiles, readme, scripts, steps } from './readme.ts'
import { type Ended, endStarted, type Ready, run, start, stop } from './shell.ts'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  engines: { node: string }
  scripts: Record<string, string>
}
let directory: string
let sandbox: Ready

beforeAll(async () => {
  directory = temporaryDirectory()
  sandbox = await start(['start', '--port', '0', '--ephemeral', '-o', 'json'], directory)
})

afterAll(async () => {
  await endStarted()
})

/** Expected results of the commands. A command that the README gains or loses must be added or removed here. */
const answers: Record<string, (ended: Ended) => unknown> = {
  'npx svc placements create --format banner --topic coffee': (ended) => expectFrame(ended, 'banner', '<img'),
  'npx svc placements create --format clip': (ended) => expectFrame(ended, 'clip', '<video'),
  'npx svc placements create --format native --native-template card': (ended) =>
    expectFrame(ended, 'native', 'data-template="card"'),
  'npx svc placements create --no-fill': ({ stdout }) => {
    expect(stdout).toMatch(/^status +ready, no fill$/m)
    expect(stdout).toMatch(/^reason +test_forced: /m)
  },
  'npx svc placements create --topic coffee --set overrides.bidfloor=1000': ({ stdout }) => {
    expect(stdout).toMatch(/^reason +below_floor: /m)
  },
  'npx svc placements explain': ({ stdout }) => {
    expect(stdout).toMatch(/^outcome +ready, no fill: below_floor/m)
    expect(stdout).toMatch(/^ +cmp_larkfield_coffee +removed +floor /m)
    expect(stdout).toMatch(/^ +cmp_sorrelbox +removed +topic /m)
  },
  'npx svc beacons list --verdict rejected': ({ stdout }) => {
    expect(stdout).toMatch(/ rejected +beacon_id_conflict /)
  },
  'npx svc requests list': ({ stdout }) => {
    expect(stdout).toMatch(/ POST +\/v1\/placements +200 /)
    expect(stdout).toMatch(/ POST +\/v1\/beacons +400 +beacon_id_conflict /)
  },
  'npx svc evidence verify': ({ stdout }) => {
    expect(stdout).toMatch(/^proj_demo +holds +[1-9]/m)
  },
  'npx svc placements create --max-width 10': ({ stdout }) => {
    expect(stdout).toMatch(/^reason +size_mismatch: /m)
  },
  'npx svc placements create --consent denied --expect reason=consent_not_granted': ({ stdout }) => {
    expect(stdout).toMatch(/^reason +consent_not_granted: /m)
  },
  'npx svc help exit-codes': ({ stdout }) => {
    expect(stdout).toMatch(/^ +5 +expectation /m)
  },
}

/** Expected behaviour of the sandboxes that the README starts. */
const starts: Record<string, (ready: Ready, again: () => Promise<Ready>) => Promise<void>> = {
  'npx svc start --decision-latency 800': async ({ url }) => {
    const asked = await place(url, '?wait_ms=0')
    expect(asked.body).toMatchObject({ status: 'pending' })
    const decision = await send(`${url}/v1/decisions/${asked.body.slot_id}?wait_ms=5000`)
    expect(decision.body).toMatchObject({ status: 'ready' })
  },
  'npx svc start --rate-limit 1/min': async ({ url }) => {
    expect((await place(url)).status).toBe(200)
    const second = await place(url)
    expect(second.status).toBe(429)
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
  },
  'npx svc start --ephemeral --seed 7': async ({ url }, again) => {
    const first = await place(url)
    const second = await place((await again()).url)
    expect(second.body.slot_id).toBe(first.body.slot_id)
    expect(second.body.placement?.asset_token).toBe(first.body.placement?.asset_token)
  },
  'npx svc start --port 0 -o json': async ({ stdout }) => {
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({ url: expect.any(String), projects: expect.any(Array) })
  },
}

test('every command that it shows is tried here', () => {
  const tried = [...Object.keys(answers), ...Object.keys(starts)]
  expect(steps.filter((step) => step.startsWith('npx svc ')).toSorted()).toEqual(tried.toSorted())
})

describe.each(steps.map((step) => [step.split('\n')[0] as string, step]))('%s', (_, step) => {
  const words = step.split(' ').slice(2)
  const answer = answers[step]
  const checkStart = starts[step]

  if (answer) {
    test('prints what the README states', async () => {
      const ended = await run(words, directory)
      expect(ended).toMatchObject({ code: 0 })
      await answer(ended)
    })
  } else if (checkStart) {
    test('starts as the README states, and ends cleanly', async () => {
      const args = words.includes('--port') ? words : [...words, '--port', '0']
      // A state directory of its own, so that commands still find the sandbox of the first minute.
      const begin = (): Promise<Ready> => start(args, temporaryDirectory())
      const ready = await begin()
      await checkStart(ready, begin)
      expect(await stop(ready)).toBe(0)
    })
  } else if (step.includes('curl ')) {
    test('renders, views and clicks a placement, and prints what it would bill', () => tryCurl(step))
  } else {
    test('runs scripts that there are', () => {
      for (const command of step.split(' && ')) {
        expect(['npm ci', ...Object.keys(manifest.scripts).map((name) => `npm ${name}`)]).toContain(command)
      }
    })
  }
})

test.each(examples)('its example type checks and passes', async (example) => {
  const project = join(directory, 'project')
  for (const name of ['vitest', 'typescript', '@types/node', 'svc']) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(name === 'svc' ? root : join(root, 'node_modules', name), link)
  }
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'example.test.ts'), example)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(exampleSettings))
  const [types, suite] = await Promise.all([
    execute(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], project),
    execute(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', project], project),
  ])
  expect(types).toEqual({ code: 0, output: '' })
  expect(suite.output).toContain('1 passed')
  expect(suite).toMatchObject({ code: 0 })
})

/** Types from the sources, which are there before a build; what runs is the built package. */
const exampleSettings = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: {
    paths: { 'svc/sandbox': [join(root, 'sandbox/index.ts')], 'svc/client': [join(root, 'src/client/index.ts')] },
  },
  include: ['example.test.ts'],
}

test('what it states of the checkout is so', () => {
  expect(linkedFiles.filter((path) => !existsSync(join(root, path)))).toEqual([])
  expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([])
  const { campaigns } = JSON.parse(readFileSync(join(root, 'fixtures/demand.json'), 'utf8')) as { campaigns: unknown[] }
  expect(readme).toContain(`${campaigns.length} campaigns`)
  expect(readme).toContain(`Node ${manifest.engines.node.replace('>=', '')} or later`)
})

/** Runs the block in a shell, then checks what the paragraph below it states about repeated beacons. */
async function tryCurl(block: string): Promise<void> {
  const { code: missing } = await execute('curl', ['--version'], directory)
  if (missing !== 0) throw new Error('The README is tried with curl, which is not on the PATH. Install curl.')
  const { code, output } = await execute(
    'sh',
    ['-euc', block.replaceAll('http://127.0.0.1:4010', sandbox.url)],
    directory,
  )
  expect(code, output).toBe(0)
  expect(output.match(/"accepted":true,"duplicate":false/g)).toHaveLength(3)

  const { text, body } = await send<{ items: BeaconItem[] }>(`${sandbox.url}/_sandbox/beacons?session_id=readme`)
  expect(output.endsWith(`}\n${text}\n`)).toBe(true)
  const verdicts = body.items.map(({ event, verdict, would_bill }) => [event, verdict, would_bill])
  expect(verdicts.toSorted()).toEqual([
    ['click', 'accepted', false],
    ['render', 'accepted', false],
    ['visible', 'accepted', true],
  ])

  const response = JSON.parse(readFileSync(join(directory, 'placement.json'), 'utf8')) as PlacementResponse
  const { beacon_id, event, occurred_at_ms } = body.items[0]!
  const measurements = { visible_ratio: 1, visible_ms: 1_000 }
  const beacon = { beacon_id, asset_token: response.placement?.asset_token, event, occurred_at_ms, measurements }
  expect((await send(`${sandbox.url}/v1/beacons`, beacon)).body).toMatchObject({ accepted: true, duplicate: true })
  const changed = await send(`${sandbox.url}/v1/beacons`, { ...beacon, occurred_at_ms: occurred_at_ms! - 1 })
  expect(changed).toMatchObject({ status: 400, body: { reason_code: 'beacon_id_conflict' } })
}

/** The creative that a reader sees who opens the frame's URL. */
async function expectFrame({ stdout }: Ended, format: string, html: string): Promise<void> {
  expect(stdout).toMatch(/^status +ready, fill$/m)
  expect(stdout).toMatch(new RegExp(`^format +${format}$`, 'm'))
  const frame = await fetch(/^frame URL +(\S+)$/m.exec(stdout)?.[1] ?? '')
  expect(frame.status).toBe(200)
  expect(await frame.text()).toContain(html)
}

test('the number of rules is that of qa observe', () => {
  expect(readme).toContain(`by [${Object.keys(observeRules).length} rules](docs/qa-observe.md)`)
})

interface Answer<Body> {
  status: number
  headers: Headers
  text: string
  body: Body
}

function place(url: string, query = ''): Promise<Answer<PlacementResponse>> {
  return send(`${url}/v1/placements${query}`, { client_id: 'proj_demo', session_id: 'readme', job_type: 'chat' })
}

async function send<Body>(url: string, body?: object): Promise<Answer<Body>> {
  const answer = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as Body }
}

function execute(command: string, args: string[], cwd: string): Promise<{ code: number; output: string }> {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env: { PATH, NO_COLOR: '1' }, timeout: 20_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: `${stdout}${stderr}` })
    })
  })
}
