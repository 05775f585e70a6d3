import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { keptCommands, renamedCommands } from '#cli/run/renamed-commands.ts'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { compat, contract } from '#contract/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { manualClock, startSandbox } from '#sandbox/index.ts'
import { commands } from '#src/program.ts'
import { receiver } from '#tests/http/receiver.ts'
import { version } from '#text/version.ts'
import { aboutNewThing, ofSharedStore } from './every-example.ts'
import { root } from './process.ts'
import { exampleFolder, noon, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
})

describe('placements create', () => {
  test('prints what was decided and what to do next', async () => {
    const { code, stdout, stderr } = await cli.svc('placements create --format banner --topic coffee')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(masked(stdout)).toBe(`\
slot         slot_*
status       ready, fill
format       banner
sponsor      Larkfield Coffee
size         300 x 250
price        4.2 USD CPM, never billed here
click URL    https://larkfield-coffee.example/subscriptions
frame URL    http://127.0.0.1:*/v1/render/ast_*
asset token  ast_*
consent      granted, revision 1, semantic_targeting yes, prompt_shared no (wrapper_cmp)
request      req_*

next  svc beacons send --event render
next  svc explain
`)
  })

  test('explains a no-fill with its meaning and its cause', async () => {
    const { code, stdout } = await cli.svc('placements create --no-fill')
    expect(code).toBe(0)
    expect(masked(stdout)).toBe(`\
slot       slot_*
status     ready, no fill
reason     test_forced: test_outcome asked for it.
from       test, OpenRTB nbr 500
reproduce  test_outcome: no_fill, with a test key.
ask again  yes
consent    granted, revision 1, semantic_targeting no, prompt_shared no (none)
request    req_*

next  svc explain
`)
  })

  test('every flag reaches its field of the body', async () => {
    const flags =
      "--format banner clip --topic tea --prompt 'a b' --prompt-shared --job-type code --session s1 --position below --max-width 300 --max-height 250 --consent granted --set overrides.bidfloor=1.5 --set slot_hint.position=above"
    const { stdout } = await cli.svc(`placements create ${flags} --curl`)
    expect(readCurlBody(stdout)).toEqual({
      client_id: 'proj_demo',
      session_id: 's1',
      job_type: 'code',
      prompt: { topic: 'tea', text: 'a b' },
      slot_hint: { position: 'above', max_width: 300, max_height: 250 },
      overrides: { allowed_formats: ['banner', 'clip'], bidfloor: 1.5 },
      consent: { semantic_targeting: true, prompt_shared: true },
    })
  })

  test('--data comes from the command line, a file or stdin, and flags are merged into it', async () => {
    const body = { session_id: 's2', slot_hint: { max_width: 320 } }
    // Editors on Windows begin a file with a byte order mark.
    await writeFile(join(cli.home, 'body.json'), `\ufeff${JSON.stringify(body)}`)
    const sources = [`'${JSON.stringify(body)}'`, '@body.json', '-']
    for (const source of sources) {
      const { stdout } = await cli.svc(`placements create --data ${source} --max-height 50 --curl`, {
        stdin: JSON.stringify(body),
      })
      expect(readCurlBody(stdout)).toMatchObject({ session_id: 's2', slot_hint: { max_width: 320, max_height: 50 } })
    }
  })

  test('--topic implies semantic targeting, unless --consent says otherwise', async () => {
    const readConsent = async (flags: string) =>
      readCurlBody((await cli.svc(`placements create ${flags} --curl`)).stdout).consent
    expect(await readConsent('--topic tea')).toEqual({ semantic_targeting: true })
    expect(await readConsent('--topic tea --consent none')).toBeUndefined()
    expect(await readConsent('--prompt x --prompt-shared')).toEqual({ prompt_shared: true })
  })

  test('a warning of the sandbox is noted with its meaning and its fix', async () => {
    const { code, stderr } = await cli.svc('placements create --prompt hello -o none')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'sandbox warning: prompt_text_discarded: The prompt text was discarded unread, because prompt_shared is not true. Send text only with that consent. A topic needs semantic_targeting instead.\n',
    })
  })

  test('--consent denied stores the denial, then requests a placement', async () => {
    const { code, stdout, stderr } = await cli.svc('placements create --consent denied --session s3')
    expect(code).toBe(0)
    expect(stderr).toBe('Stored consent denied for session s3 with POST /v1/consent.\n')
    expect(stdout).toContain('reason     consent_not_granted: Consent is denied, withdrawn or expired.\n')
  })

  test('--curl prints a variable for a key that is not of the sandbox', async () => {
    const { stdout } = await cli.svc('placements create --session s4 --curl', {
      env: { SVC_SECRET_KEY: 'sk_live_mine' },
    })
    expect(masked(stdout)).toBe(`\
curl -sS -X POST 'http://127.0.0.1:*/v1/placements' \\
  -H 'content-type: application/json' \\
  -H 'authorization: Bearer '"$SVC_SECRET_KEY"'' \\
  --data-raw '{"client_id":"proj_demo","session_id":"s4","job_type":"chat"}'
`)
  })

  test('--live uses the live key, and is refused with --no-fill', async () => {
    expect((await cli.svc('placements create --live --curl')).stdout).toContain('Bearer sk_live_sandbox_demo')
    const { code, stdout, stderr } = await cli.svc('placements create --live --no-fill')
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toBe(`\
error: Not sent. test_outcome needs a Server Test Key.
hint: Use a key that begins with sk_test_, and never send test_outcome in production.
reason test_outcome_requires_test_key
`)
  })

  test('a live key is part of the next command only if it is the one of the sandbox', async () => {
    const readNext = async (env: Record<string, string>) =>
      (await cli.svc('placements create --live --format banner', { env })).stdout.split('\nnext  ').slice(1)
    expect(await readNext({})).toEqual([
      'svc beacons send --event render --secret-key sk_live_sandbox_demo',
      'svc explain\n',
    ])
    const { url, keys } = cli.sandbox
    const own = { SVC_BASE_URL: url, SVC_CLIENT_ID: keys.client_id, SVC_SECRET_KEY: keys.live_secret_key }
    expect(await readNext(own)).toEqual(['svc beacons send --event render', 'svc explain\n'])
  })
})

test('explain calls an ad that was shown a fill, also once its time is over', async () => {
  const clock = manualClock(noon)
  await using sandbox = await startSandbox({ clock })
  const env = { SVC_BASE_URL: sandbox.url, SVC_SECRET_KEY: sandbox.keys.secret_key, SVC_CLIENT_ID: 'proj_demo' }
  const outcome = async (slot_id: string) =>
    /^outcome +(.*)$/m.exec((await cli.svc(`explain ${slot_id}`, { env })).stdout)?.[1]
  const create = async () =>
    JSON.parse((await cli.svc('placements create --format banner -o json', { env })).stdout) as PlacementResponse
  const [unseen, shown] = [await create(), await create()]
  expect((await fetch(shown.placement!.render.frame_url)).status).toBe(200)
  expect(await outcome(shown.slot_id)).toMatch(/^ready, fill: banner of \w+$/)
  clock.advance(3_600_000)
  expect(await outcome(shown.slot_id)).toMatch(/^fill: banner of \w+, shown; now expired$/)
  expect(await outcome(unseen.slot_id)).toMatch(/^expired, fill: banner of \w+$/)
})

describe('api decisions.get', () => {
  test('reports that a slot is pending, and with --wait waits until it is not', async () => {
    const clock = manualClock(noon)
    await using sandbox = await startSandbox({ decision_latency_ms: 600, clock })
    const env = { SVC_BASE_URL: sandbox.url, SVC_SECRET_KEY: sandbox.keys.secret_key, SVC_CLIENT_ID: 'proj_demo' }
    const created = await cli.svc('placements create --wait 0 -o json', { env })
    const { slot_id } = JSON.parse(created.stdout) as { slot_id: string }
    const readStatus = async (flags: string) => {
      const { stdout, stderr } = await cli.svc(`api decisions.get ${slot_id} -o json ${flags}`, { env })
      return (JSON.parse(stdout || stderr) as { status: string }).status
    }
    expect(await readStatus('')).toBe('pending')
    const next = await cli.svc(`api decisions.get --base-url ${sandbox.url} --client-id proj_demo`, { env })
    const service = `--base-url ${sandbox.url} --client-id proj_demo`
    expect(next.stdout).toContain(`\nnext  svc api decisions.get --wait-ms 5000 ${service}\n`)
    expect(next.stderr).toBe(`slot_id of the last placement: ${slot_id}\n`)
    const waiting = readStatus('--wait')
    setTimeout(() => clock.advance(600), 50)
    expect(await waiting).toBe('ready')
    // Named once, although it is polled and then printed.
    const polled = await cli.svc('api decisions.get --wait', { env })
    expect(polled.stderr).toBe(`slot_id of the last placement: ${slot_id}\n`)
  })
})

test('an unmet expectation still prints the data', async () => {
  const { stdout, stderr } = await cli.svc('placements create --no-fill --expect fill -o json')
  expect(JSON.parse(stdout)).toMatchObject({ decision: { fill: false } })
  expect(JSON.parse(stderr)).toMatchObject({ error: { category: 'no_fill', code: 'no_fill' } })
})

describe('errors', () => {
  test('name the body where it is not an object', async () => {
    const { stderr } = await cli.svc('placements create --data []')
    expect(stderr).toContain('\n  the body: is a list (expected: an object)\n')
  })

  test('say what happened, where, what to do, and name the request', async () => {
    const { stderr } = await cli.svc('api consent.set --data {"client_id":"proj_demo","decision":"granted"}')
    expect(masked(stderr)).toBe(`\
error: The request does not match the schema.
  session_id: is missing (expected: text)
hint: Correct the listed fields.
reason schema_invalid, request req_*
`)
  })

  test('are one JSON object on stderr with -o json, whatever went wrong', async () => {
    for (const args of [
      'placements create --nonsense',
      'api decisions.get slot_00000000001',
      'sandbox clock show --base-url http://127.0.0.1:1',
    ]) {
      const { stdout, stderr } = await cli.svc(`${args} -o json`)
      expect(stdout).toBe('')
      const { error } = JSON.parse(stderr) as { error: object }
      expect(Object.keys(error)).toEqual(['category', 'code', 'reason_code', 'message', 'hint', 'request_id'])
    }
  })

  test('name the program as it was called', async () => {
    const { stderr } = await cli.svc('sandbox clock show --base-url http://127.0.0.1:1', {
      env: { npm_execpath: 'npm' },
    })
    expect(stderr).toContain('hint: Start a sandbox: npx svc start.')
    const empty = await cli.svc('team tokens list', { env: { npm_execpath: 'npm' } })
    expect(empty.stderr).toContain('Create one: npx svc team tokens create')
  })

  test.each([
    ['placements create --base-url http://127.0.0.1:1', 'List them: npx svc sandbox ps'],
    [
      'observe --base-url http://127.0.0.1:1',
      'Start one: npx svc start. Or run a command against its own: npx svc observe',
    ],
    ['observe npm test', 'npx svc observe -- npm test'],
    ['requests tail', 'is now npx svc sandbox logs'],
    ['qa observe --url x', 'is now npx svc observe'],
    ['qa run --watch', 'Name one: npx svc qa run shop.yaml --watch'],
  ])('name it once: %s', async (args, hint) => {
    const { stderr } = await cli.svc(args, { env: { npm_execpath: 'npm' } })
    expect(stderr).toContain(hint)
    expect(stderr).not.toContain('npx npx')
  })
})

describe('the commands of the contract', () => {
  test('every endpoint has one, or the table of earlier names says what does it', async () => {
    const all = await loadAll(commands)
    const summaries = new Set(all.map(({ command }) => command.summary))
    const served = Object.values(contract).filter(({ id }) => !(id in compat))
    const paths = all.map(({ path }) => path)
    const named = [...Object.keys({ ...renamedCommands, ...keptCommands }), ...paths].map((path) => ` ${path}`)
    // The inspector's: svc start --demand FILE --watch does it.
    const ofPages = new Set(['demand.replace'])
    const missing = served.filter(
      ({ id, summary }) =>
        !ofPages.has(id) && !summaries.has(summary) && !named.some((path) => path.endsWith(` ${id.replace('.', ' ')}`)),
    )
    expect(missing.map(({ id }) => id)).toEqual([])
  })

  test('a list is a table in text, a page in JSON, one item a line in JSON lines', async () => {
    await cli.svc('sandbox reset')
    await cli.svc('placements create --session-id s5 --no-fill')
    await cli.svc('placements create --session-id s5 --format banner')
    expect(masked((await cli.svc('placements list --session-id s5')).stdout)).toBe(`\
when                      slot              job   key   status  format  no-fill      campaign       forced
2026-01-31T12:00:00.000Z  slot_*  chat  test  ready   banner  -            cmp_latchwell  -
2026-01-31T12:00:00.000Z  slot_*  chat  test  ready   -       test_forced  -              -
`)
    const page = JSON.parse((await cli.svc('placements list -o json')).stdout) as { items: unknown[] }
    expect(page.items).toHaveLength(2)
    const lines = (await cli.svc('placements list -o jsonl')).stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(page.items)
    expect((await cli.svc('placements list -o none')).stdout).toBe('')
  })

  test('a list shows every project, unless --client-id names one', async () => {
    await cli.svc('placements create --client-id proj_other')
    const slots = async (args: string) =>
      (await cli.svc(`placements list -o jsonl ${args}`)).stdout.trim().split('\n').length
    expect(await slots('')).toBe((await slots('--client-id proj_other')) + (await slots('--client-id proj_demo')))
  })

  test('a beacon has the asset token of the last fill and the current time by default', async () => {
    await cli.svc('placements create --format banner')
    await cli.svc('api render.frame')
    const { code, stdout, stderr } = await cli.svc('beacons send --event render')
    expect(code, stderr).toBe(0)
    expect(masked(stderr)).toBe('asset_token of the last fill: ast_*\n')
    expect(masked(stdout)).toBe(`\
verdict     accepted
reason      OK
billable    no
would bill  no, a rendered_impression
request     req_*
`)
    await cli.svc('placements create --no-fill')
    const second = await cli.svc('beacons send --event visible')
    expect(second.code, second.stderr).toBe(0)
    expect(second.stderr).toBe(stderr)
    expect(second.stdout).toContain(
      'reason      VISIBILITY_UNMEASURED: the visible beacon has no measurements.visible_ratio or visible_ms, or its visibility_check is none\nfix         Send measurements.visible_ratio and measurements.visible_ms with visible. With visibility_check none, this browser cannot tell whether something covers the ad.\n',
    )
    const { url, keys } = cli.sandbox
    const settings = { SVC_BASE_URL: url, SVC_CLIENT_ID: keys.client_id, SVC_SECRET_KEY: keys.secret_key }
    const others = { env: { ...settings, SVC_HOME: temporaryDirectory() } }
    await cli.svc('placements create --no-fill', others)
    const third = await cli.svc('beacons send --event render', others)
    expect(third).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no last fill.\n') })
  })

  test('where you have made no placement, or it is gone, the newest of the project stands in for it', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --format banner --session-id s_own')
    await cli.svc('sandbox reset')
    const { url, keys } = cli.sandbox
    const headers = { authorization: `Bearer ${keys.secret_key}`, 'content-type': 'application/json' }
    const post = async (path: string, fields: object) => {
      const body = JSON.stringify({ client_id: keys.client_id, session_id: 's_app', job_type: 'chat', ...fields })
      const response = await fetch(url + path, { method: 'POST', headers, body })
      return (await response.json()) as { slot_id: string; slot_ids: string[]; request_id: string }
    }
    const none = await cli.svc('explain')
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there is no last placement.\n')])
    const { slot_id } = await post('/v1/placements', { overrides: { allowed_formats: ['banner'] } })
    const note = (field: string) => `You have no ${field} of the newest one of proj_demo`
    const explained = await cli.svc('explain')
    expect([explained.code, explained.stderr]).toEqual([0, `${note('placement here. slot_id')}: ${slot_id}\n`])
    expect(explained.stdout).toMatch(new RegExp(`^slot +${slot_id}$`, 'm'))
    const shown = await cli.svc('requests show')
    expect(masked(shown.stderr)).toBe(`${note('placement here. request_id')}, slot_*: req_*\n`)
    expect(shown.stdout).toMatch(/^session id +s_app$/m)
    for (const command of ['open frame -o json', 'api render.frame', 'beacons send --event render']) {
      const { code, stderr } = await cli.svc(command)
      expect([command, code, masked(stderr)]).toEqual([
        command,
        0,
        expect.stringContaining(`${note('fill here. asset_token')}, slot_*: ast_*\n`),
      ])
    }
    const job = await post('/v1/jobs', { slots_requested: 1 })
    expect((await cli.svc('requests show -q')).stdout).toMatch(/^path +\/v1\/jobs$/m)
    for (const noted of [note('placement here. slot_id'), 'slot_id of the last placement']) {
      const { code, stderr } = await cli.svc('api decisions.get --wait')
      expect([code, stderr]).toEqual([0, `${noted}: ${job.slot_ids[0]}\n`])
    }
    await cli.svc('placements create --client-id proj_other')
    // The key in use could not poll it or send its beacons.
    expect(masked((await cli.svc('explain')).stderr)).toBe(
      'slot_id of the last placement (proj_other, test key): slot_*\n',
    )
    expect(masked((await cli.svc('explain --client-id proj_other')).stderr)).toBe(
      'slot_id of the last placement: slot_*\n',
    )
  })

  test('what reads takes a newer placement of your app; a token stays that of your own fill', async () => {
    await using cli = await startTestCli()
    const own = JSON.parse((await cli.svc('placements create --format banner -o json')).stdout) as { slot_id: string }
    const { url, keys } = cli.sandbox
    const headers = { authorization: `Bearer ${keys.secret_key}`, 'content-type': 'application/json' }
    const asked = { client_id: keys.client_id, session_id: 's_app', job_type: 'chat' }
    const body = JSON.stringify({ ...asked, overrides: { allowed_formats: ['banner'] } })
    const response = await fetch(`${url}/v1/placements`, { method: 'POST', headers, body })
    const newer = (await response.json()) as { slot_id: string }
    const explained = await cli.svc('explain')
    expect(explained.stdout).toMatch(new RegExp(`^slot +${newer.slot_id}$`, 'm'))
    expect(explained.stderr).toBe(`slot_id of the newest placement; your last one is older: ${newer.slot_id}\n`)
    const shown = await cli.svc('requests show')
    expect(shown.stdout).toMatch(/^session id +s_app$/m)
    expect(shown.stderr).toContain(`request_id of the newest placement, ${newer.slot_id}; your last one`)
    const sent = await cli.svc('beacons send --event render')
    expect(sent.stderr).toContain(`asset_token of the last fill, which is older than ${newer.slot_id}: ast_`)
    expect((await cli.svc(`explain ${own.slot_id}`)).stdout).toMatch(/^.* render +accepted/m)
    expect((await cli.svc(`explain ${newer.slot_id}`)).stdout).not.toMatch(/ render +accepted/)
  })

  test('a placement of an earlier sandbox in memory, or a fill from before a reset, is not the last one', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --format banner')
    expect(masked((await cli.svc('explain')).stderr)).toBe('slot_id of the last placement: slot_*\n')
    // With a seed, the next sandbox on this port gives its slots the same names.
    await writeLocator(cli.home, { ...cli.sandbox, version, started_at_ms: noon + 1 })
    expect(masked((await cli.svc('explain')).stderr)).toBe(
      'You have no placement here. slot_id of the newest one of proj_demo: slot_*\n',
    )
    await cli.svc('placements create --format banner')
    await cli.svc('sandbox reset')
    await cli.svc('placements create --no-fill')
    expect((await cli.svc('beacons send --event render')).stderr).toContain('there is no last fill.\n')
  })

  test('explain says what to do about a fill that is not billed, by what came last', async () => {
    const fix = async () => /\nfix +(.*)\n/.exec((await cli.svc('explain -q')).stdout)?.[1]
    await cli.svc('placements create --format banner')
    expect(await fix()).toMatch(/^No frame of it was loaded\./)
    await cli.svc('api render.frame')
    expect(await fix()).toMatch(/^Its frame was loaded, and no beacon arrived:/)
    await cli.svc('beacons send --event render')
    expect(await fix()).toMatch(/^Bring the frame into view: /)
    await cli.svc('beacons send --event visible --set occurred_at_ms=1700000000')
    expect(await fix()).toBe('Send milliseconds: Date.now(), not Date.now() / 1000.')
    await cli.svc('beacons send --event visible')
    const unmeasured =
      'Send measurements.visible_ratio and measurements.visible_ms with visible. With visibility_check none, this browser cannot tell whether something covers the ad.'
    expect(await fix()).toBe(unmeasured)
    await cli.svc('beacons send --event visible --set event=viewable')
    expect(await fix()).toBe(unmeasured)
  })

  test('explain groups the removed campaigns by rule, and with --all lists each', async () => {
    await cli.svc('placements create --format banner --topic coffee')
    const { stdout } = await cli.svc('explain -q')
    expect(stdout).toContain('outcome   ready, fill: banner of cmp_larkfield_coffee\n')
    expect(stdout).toContain(
      '\nRemoved 29 of 34 campaigns\n  rule      removed  why\n  topic          16  Buys other topics;',
    )
    const each = await cli.svc('explain -q --all')
    expect(each.stdout.match(/ removed {2}/g)).toHaveLength(29)
    expect(each.stdout).toContain(
      '\nTrace\n  campaign                  outcome  rule      why\n  cmp_larkfield_coffee      won      -         The best offer.\n',
    )
    expect(stdout).toContain('\nPartner request\n  job_type            chat\n')
  })

  test('a flag is checked before anything is sent, --set is not', async () => {
    const flag = await cli.svc('api jobs.create --job-type poem')
    expect({ code: flag.code, stdout: flag.stdout }).toEqual({ code: 2, stdout: '' })
    expect((await cli.svc('api jobs.create --set job_type=poem')).code).toBe(3)
  })

  test('activation uses key and origin of the sandbox, and its token works as a credential', async () => {
    const { stdout } = await cli.svc('api browser.activate -o json')
    const { activation_token } = JSON.parse(stdout) as { activation_token: string }
    const result = await cli.svc(`placements create --secret-key ${activation_token}`)
    expect(result.code, result.stderr).toBe(0)
  })
})

describe('example requests', () => {
  const files = readdirSync(join(root, 'fixtures/requests')).filter((file) => !file.startsWith('beacons'))
  const createdBy: Record<string, string> = {
    consent: 'api consent.set',
    browser: 'api browser.activate',
    jobs: 'api jobs.create',
  }

  test.each(files)('%s can be sent with --data', async (file) => {
    const group = file.split('.')[0] as string
    const data = `--data @${join(root, 'fixtures/requests', file)}`
    const { code, stderr } = await cli.svc(`${createdBy[group] ?? `${group} create`} ${data}`)
    expect(code, stderr).toBe(0)
  })
})

describe('examples in the help', () => {
  test('work as written, with only JSON on stdout where they ask for it', { tags: 'depth' }, async () => {
    await using hook = await receiver()
    for (const { command, path } of await loadAll(commands)) {
      if (
        [
          'start',
          'stop',
          'events',
          'tail',
          'listen',
          'record',
          'exec',
          'observe',
          'hosts',
          'gameday',
          'sheet',
        ].includes(command.name)
      )
        continue
      const cwd = exampleFolder(cli, path)
      for (const example of command.examples) {
        // Every suite takes a while: tests/cli/qa.test.ts runs them.
        if (example === 'qa run --fresh') continue
        if (ofSharedStore.test(example)) continue
        // It sends hundreds of requests: tests/cli/contract-check.test.ts.
        if (example.startsWith('contract check')) continue
        // Its file counts nothing for a day with one placement.
        if (path === 'beacons reconcile')
          for (const line of ['reset', 'clock set now']) await cli.svc(`sandbox ${line}`)
        await cli.svc('placements create --format banner -q', { cwd })
        if (path.startsWith('sandbox callbacks')) await cli.svc(`api jobs.create --callback-url ${hook.url} -q`)
        const { code, stdout, stderr } = await cli.svc(await aboutNewThing(example, cli.sandbox.url), { cwd })
        expect(code, `svc ${example}: ${stderr}${stdout}`).toBe(0)
        expect(example.startsWith(path), `${example} is of ${path}`).toBe(true)
        if (example.includes('-o json')) for (const line of stdout.trim().split('\n')) if (line !== '') JSON.parse(line)
      }
    }
  })
})

/** The body in the curl command that a command prints. */
function readCurlBody(curl: string): Record<string, unknown> {
  return JSON.parse(/--data-raw '(.*)'\n$/.exec(curl)?.[1] ?? 'null') as Record<string, unknown>
}

/** Identifiers, tokens and ports, which differ from run to run. */
function masked(text: string): string {
  return text.replace(/\b(slot|req|ast|job)_[0-9a-z]{11}[\w-]*/g, '$1_*').replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:*')
}
