/**
 * A check never passes on nothing: every command whose exit code is a verdict, every tool of agents and every
 * expectation of the test adapters, with nothing to judge. A command that promises exit code 5 must be in the table.
 */
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CommandNode, commandTree } from '#cli/run/help.ts'
import { commands } from '#src/program.ts'
import { haveAccepted, haveBilled, haveNoRejectedBeacons } from '#testing/expectations.ts'
import { startTestSandbox } from '#testing/open-sandbox.ts'
import { root } from './process.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  mkdirSync(join(cli.home, 'empty'))
})
afterAll(() => cli[Symbol.asyncDispose]())

/** Writes a file into the folder of the commands, and returns its name. */
function file(name: string, text: string): string {
  writeFileSync(join(cli.home, name), text)
  return name
}

/** A service that answers, but not to the API: no endpoint of it can be judged. */
async function silentService() {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/v1/')) request.socket.destroy()
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

const unchangedConfig = JSON.stringify({
  log: {
    version: '1.2',
    entries: [
      {
        startedDateTime: '2026-01-31T12:00:00.000Z',
        request: { method: 'GET', url: 'https://api.test/v1/projects/proj_demo/config', headers: [], queryString: [] },
        response: { status: 304, headers: [{ name: 'etag', value: '"a"' }], content: { size: 0 } },
      },
    ],
  },
})

const observeNothing = `observe -- ${process.execPath} -e 0`

const day =
  'gameday: day\nrate: 2\nlength: 1s\ntimeline: [{ fault: away, at: 0s, for: 500ms }]\nexpect: { billed: 50 % }\n'

/** Command lines with nothing to judge, each with what its error says that it looked at. */
const nothing: Readonly<Record<string, readonly (readonly [args: () => string, says: RegExp])[]>> = {
  'demand check': [[() => `demand check ${file('none.yaml', 'campaigns: []\n')}`, /none\.yaml has no campaign\./]],
  'qa run': [
    [() => 'qa run renderer', /none of \d+ cases applies to http:\S+\.\n.*needs a browser/],
    [() => 'qa run renderer --last-failed', /Nothing ran: no case failed in the last run/],
  ],
  observe: [
    [() => 'observe --serve-dir empty', /saw no request of the app to http:\S+, and no file in empty/],
    [() => observeNothing, /observe saw no request of the app to http:/],
    [() => observeNothing.replace(' -- ', ' --strict -- '), /observe saw no request of the app/],
    [() => 'observe --since 10m', /observe saw no request of the app/],
    [() => 'observe --for 1ms', /observe saw no request of the app/],
  ],
  'beacons lint': [
    [() => `beacons lint ${file('none.jsonl', '')}`, /There is no beacon in none\.jsonl\./],
    [() => `beacons lint ${file('none.json', '[]')}`, /There is no beacon in none\.json\./],
    [() => `beacons lint ${file('none.har', '{"log":{"entries":[]}}')}`, /There is no beacon in none\.har\./],
  ],
  'evidence verify': [
    [() => 'evidence verify', /No evidence was verified: 3 chains with 0 entries\./],
    [() => 'evidence verify --client-id proj_other', /with 0 entries\./],
  ],
  'beacons reconcile': [
    [() => `beacons reconcile ${file('none.csv', '')}`, /There is no row in none\.csv\./],
    [() => `beacons reconcile ${file('head.csv', 'slot_id,views\n')}`, /There is no row in head\.csv\./],
    [
      () => `beacons reconcile ${file('zero.csv', 'slot_id,views\nslot_a,0\n')}`,
      /counts 0, and the sandbox has no turn\./,
    ],
    [
      () => `beacons reconcile ${file('rejected.csv', 'slot_id,metric\nslot_a,\n')} -o json`,
      /Nothing was compared: no row of rejected\.csv has a count/,
    ],
  ],
  'contract compare': [
    [() => `contract compare ${file('empty.har', '{"log":{"entries":[]}}')}`, /Nothing of empty\.har was compared\./],
    [
      () => `contract compare ${file('304.har', unchangedConfig)} --with ${file('same.har', unchangedConfig)}`,
      /No response of 304\.har was compared: 1 exchange without a body/,
    ],
  ],
  'sandbox gameday': [
    [() => `sandbox gameday ${file('day.yaml', day)} -- ${process.execPath} -e 0`, /the app requested no ad/],
  ],
  'requests verify': [
    [() => 'requests verify', /Expected at least 1, found 0\./],
    [() => 'requests verify --none --status-class 5xx', /Nothing was verified: the journal has no request\./],
    [() => 'requests verify --times 0 --path /v1/beacons', /the journal has no request\./],
    [() => 'requests verify --at-least 0 --method POST --since 1m', /the journal has no request since then\./],
  ],
}

/** Commands that promise exit code 5 and always have something to judge. */
const judgesWhatItMakes: Readonly<Record<string, string>> = {
  'sandbox status': 'the database, which is there',
  'bundle import': 'the parts of the file, which has some',
  'creatives sheet': 'the variants of the campaign: without one that is rendered it fails (creative-sheet.test.ts)',
  trigger: 'the turns that it plays',
  'qa hosts': 'the page under each condition: where nothing is seen, its ad does not show (qa-hosts.test.ts)',
  'sandbox callbacks resend': 'the callback that it sends; there is none to send otherwise',
}

test('every command that promises exit code 5 is here', async () => {
  const found: string[] = []
  const walk = (nodes: readonly CommandNode[], words: readonly string[]): void => {
    for (const node of nodes) {
      const path = [...words, node.name]
      if (/exit code\D{0,40}\b5\b|[;,] 5 if\b/i.test(node.details ?? '')) found.push(path.join(' '))
      walk(node.commands ?? [], path)
    }
  }
  walk(await commandTree(commands), [])
  const covered = [...Object.keys(nothing), ...Object.keys(judgesWhatItMakes), 'contract check']
  expect(found.sort()).toEqual(covered.sort())
})

test('no other module ends a command with exit code 5', () => {
  const folder = join(root, 'src/cli/commands')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const ending = files.filter((name) =>
    /exitCodes\.expectation|'expectation'|nothingChecked\(/.test(readFileSync(join(folder, name), 'utf8')),
  )
  // The last one judges the placement that it makes, by --expect.
  const known = [
    'beacons/index',
    'beacons/reconcile',
    'bundle/files',
    'contract/check',
    'contract/compare',
    'creatives',
    'demand',
    'doctor',
    'evidence/index',
    'gameday/app-runs',
    'gameday/index',
    'qa/hosts',
    'qa/index',
    'qa/observe',
    'requests/match',
    'sandbox/status',
  ]
  const expected = [...known, 'trigger/index', 'placements/create'].map((name) => join(`${name}.ts`))
  expect(ending.sort()).toEqual(expected.sort())
})

describe('with nothing to judge', () => {
  test.each(Object.entries(nothing))('%s', async (_path, lines) => {
    for (const [args, says] of lines) {
      const line = args()
      const { code, stdout, stderr } = await cli.svc(line, { cwd: cli.home, system: { now: () => Date.now() } })
      expect({ line, code, stderr, stdout }).toMatchObject({ code: 5, stderr: expect.stringMatching(says) })
    }
  })

  test('contract check', async () => {
    await using service = await silentService()
    const flags = '--secret-key sk_test_a --client-id proj_demo'
    const { code, stderr } = await cli.svc(`contract check ${service.url} ${flags}`)
    expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringMatching(/none of \d+ endpoints could be/) })
  })

  test('--none without a condition expects an empty journal, which is something', async () => {
    expect((await cli.svc('requests verify --none')).code).toBe(0)
  })

  test('a report of what would be billed says that nothing was', async () => {
    expect((await cli.svc('beacons billing')).stdout).toContain('Nothing counted yet.')
  })

  test('a suite without cases is invalid', async () => {
    const { code, stderr } = await cli.svc(`qa validate ${file('empty.yaml', 'suite: empty\ncases: []\n')}`, {
      cwd: cli.home,
    })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('empty.yaml') })
  })

  test('expectations of the test adapters', async () => {
    const sandbox = await startTestSandbox()
    const not = { isNot: true, timeout_ms: 0 }
    const plain = { isNot: false, timeout_ms: 0 }
    try {
      const negated = [
        await haveAccepted(sandbox, 'render', {}, not),
        await haveBilled(sandbox, {}, not),
        await haveNoRejectedBeacons(sandbox, {}, not),
      ]
      // A negated expectation fails when its verdict passes.
      expect(negated.map(({ pass }) => pass)).toEqual([true, true, true])
      const expected = [
        await haveAccepted(sandbox, 'render', {}, plain),
        await haveAccepted(sandbox, 'render', { count: 0 }, plain),
        await haveBilled(sandbox, {}, plain),
        await haveBilled(sandbox, { count: 0 }, plain),
        await haveNoRejectedBeacons(sandbox, {}, plain),
      ]
      expect(expected.map(({ pass }) => pass)).toEqual([false, false, false, false, false])
      expect(negated[1]?.message()).toContain('The sandbox has received no request in this test')
      // With a request there is something to judge: that nothing of it was billed.
      await sandbox.client.placements.create({ body: { client_id: 'proj_demo', session_id: 's', job_type: 'chat' } })
      expect((await haveBilled(sandbox, {}, not)).pass).toBe(false)
      expect((await haveBilled(sandbox, { count: 0 }, plain)).pass).toBe(true)
    } finally {
      await sandbox.close()
    }
  })
})
