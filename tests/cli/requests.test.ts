import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Signal, System } from '#cli/run/system.ts'
import type { HarEntry } from '#contract/recordings/har.ts'
import type { ReplayResult, RequestItem } from '#contract/resources/requests.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

/** A cli whose journal holds two placements, a refused one and a beacon. */
async function withJournal(): Promise<TestCli> {
  const cli = await startTestCli()
  await cli.svc('placements create --format banner --session s1')
  await cli.svc('beacons send --event render')
  await cli.svc('placements create --format clip --session s2')
  await cli.svc('placements create --session s3 --secret-key sk_test_unknown')
  return cli
}

/** Times, identifiers, ports and durations, which differ from run to run. */
function masked(text: string): string {
  return text
    .replace(/\b(slot|req|job|key)_[0-9a-z]{11}/g, '$1_*')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:*')
    .replace(/ {2,}\d+(\.\d+)? {2}req_/g, '  MS  req_')
}

async function journalled(cli: TestCli, flags = ''): Promise<RequestItem[]> {
  const { stdout } = await cli.svc(`requests list ${flags} -o json`)
  return (JSON.parse(stdout) as { items: RequestItem[] }).items
}

async function count(cli: TestCli, match: string): Promise<number> {
  const { stdout } = await cli.svc(`requests verify --at-least 0 ${match} -o json`)
  return (JSON.parse(stdout) as { count: number }).count
}

describe('requests list', () => {
  test('is narrowed by each filter', async () => {
    await using cli = await withJournal()
    const paths = async (flags: string) => (await journalled(cli, flags)).map(({ path, status }) => `${path} ${status}`)
    expect(await paths('')).toHaveLength(4)
    expect(await paths('--status-class 4xx')).toEqual(['/v1/placements 401'])
    expect(await paths('--session s2')).toEqual(['/v1/placements 200'])
    expect(await paths('--session-id s2')).toEqual(['/v1/placements 200'])
    expect(await paths('--path /v1/be* --method post')).toEqual(['/v1/beacons 200'])
    expect(await paths('--key sk_test --path /v1/placements')).toHaveLength(2)
    expect(await paths('--reason key_unknown --since 1h')).toEqual(['/v1/placements 401'])
    expect(await paths('--client-id proj_other')).toEqual([])
    const { code, stderr } = await cli.svc('requests list --key mine')
    expect([code, stderr]).toEqual([2, expect.stringContaining('must be sk_test, sk_live, at, bt or the id of a key')])
  })
})

describe('headers and bodies', () => {
  test('match bodies and headers', async () => {
    await using cli = await withJournal()
    const found = await cli.svc('requests list --path /v1/placements --body overrides.allowed_formats.0=clip -o jsonl')
    expect(found.stdout.trim().split('\n')).toHaveLength(1)
    expect(await count(cli, '--header content-type=application/json')).toBe(4)
    expect(await count(cli, '--path /v1/beacons --body event=render')).toBe(1)
    expect(masked((await cli.svc('requests verify --path /v1/beacons --body event=click')).stdout)).toContain(`\
near   POST /v1/beacons 200  req_*
       body.event is "render", not "click"
`)
    expect((await cli.svc('requests list --body event=render --limit few')).code).toBe(2)
    const mixed = await cli.svc('requests list --body event=render --foreign true')
    expect([mixed.code, mixed.stderr]).toEqual([2, expect.stringContaining('cannot be used with')])
    expect(
      await cli
        .svc('requests list --header content-type=application/json --limit 2 -o jsonl')
        .then(({ stdout }) => stdout.split('\n').length),
    ).toBe(3)
    const { code, stderr } = await cli.svc('requests list --body event')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--body event is not name=value.')])
  })

  test('a value has the type of its field, so that a session of digits is text', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session 123')
    expect(await count(cli, '--path /v1/placements --body session_id=123')).toBe(1)
    expect(await count(cli, '--body session_id=123')).toBe(0)
    expect(await count(cli, `--body 'session_id="123"'`)).toBe(1)
  })
})

describe('requests show --curl', () => {
  test('prints the command that sends it again, with a variable for the key', async () => {
    await using cli = await withJournal()
    const [item] = await journalled(cli, '--session s2')
    const { code, stdout, stderr } = await cli.svc(`requests show ${item!.request_id} --curl`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(masked(stdout)).toBe(`\
curl -sS -X POST 'http://127.0.0.1:*/v1/placements' \\
  -H 'content-type: application/json' \\
  -H 'authorization: Bearer '"$SVC_SECRET_KEY"'' \\
  --data-raw '{"client_id":"proj_demo","session_id":"s2","job_type":"chat","overrides":{"allowed_formats":["clip"]}}'
`)
  })

  test('names what is redacted', async () => {
    await using cli = await withJournal()
    const [item] = await journalled(cli, '--path /v1/beacons')
    const { stdout, stderr } = await cli.svc(`requests show ${item!.request_id} --curl`)
    expect(stdout).toContain('_redacted"')
    expect(stderr).toBe('Redacted, fill in before you send it: asset_token.\n')
  })
})

describe('requests replay', () => {
  test('sends it again with the same key and the changes of --set', async () => {
    await using cli = await withJournal()
    const [item] = await journalled(cli, '--session s2')
    const set = '--set session_id=s9 --set overrides.allowed_formats=banner'
    const { code, stdout, stderr } = await cli.svc(`requests replay ${item!.request_id} ${set} -o json`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const result = JSON.parse(stdout) as ReplayResult
    expect(result).toMatchObject({
      replayed: item!.request_id,
      status_before: 200,
      exchange: { method: 'POST', path: '/v1/placements', status: 200, key_id: item!.key_id },
    })
    expect(JSON.parse(result.exchange.response_body!)).toMatchObject({ decision: { format: 'banner' } })
    const [sent] = await journalled(cli, '--session s9')
    expect(sent?.request_id).toBe(result.exchange.request_id)
    expect(JSON.parse(result.exchange.request_body!)).toEqual({
      client_id: 'proj_demo',
      session_id: 's9',
      job_type: 'chat',
      overrides: { allowed_formats: ['banner'] },
    })
  })

  test('of a beacon needs neither its token nor a key', async () => {
    await using cli = await withJournal()
    const [item] = await journalled(cli, '--path /v1/beacons')
    const { code, stdout, stderr } = await cli.svc(`requests replay ${item!.request_id}`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(masked(stdout)).toBe(`\
replayed  req_*
sent      POST /v1/beacons, for key_* (sk_test)
status    200, before: 200
request   req_*

ok                true
accepted          true
duplicate         true
billable          false
reason_code       DUPLICATE
contract_version  csl_wrapper_beacon/v1
request_id        req_*
`)
  })

  test('takes the last placement by default, and a refusal gives its exit code', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session s1')
    const refused = await cli.svc('requests replay --set job_type=poem')
    expect([refused.code, refused.stdout]).toEqual([3, expect.stringMatching(/^status +400, before: 200$/m)])
    expect(refused.stderr).toContain('job_type')
  })

  test('takes the request that made the last placement, not the one that polled its decision', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session s1')
    const made = (await cli.svc('requests list --path /v1/placements --jq .items[0].request_id')).stdout
    await cli.svc('api decisions.get')
    expect(JSON.parse((await cli.svc('requests replay -o json')).stdout)).toMatchObject({ replayed: made.trim() })
    const other = await cli.svc('api jobs.create --slots-requested 2 --jq .slot_ids[1]')
    await cli.svc(`api decisions.get ${other.stdout.trim()}`)
    expect((await cli.svc('requests replay')).stderr).toContain(
      'request_id is missing, and the last placement has none.',
    )
  })

  test('notes what could not be restored', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --prompt hello')
    const { code, stderr } = await cli.svc('requests replay -o none')
    expect([code, masked(stderr)]).toEqual([
      0,
      'request_id of the last placement: req_*\nprompt: Left out: prompt text is never kept.\n',
    ])
  })

  test('is not sent while something is missing; --key-id and --set fill it in', async () => {
    await using cli = await withJournal()
    const [item] = await journalled(cli, '--status 401')
    const before = (await journalled(cli)).length
    const { code, stdout, stderr } = await cli.svc(`requests replay ${item!.request_id}`)
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`\
error: Nothing was sent: the journal does not have all of this request.
  authorization: is not kept (expected: the id of a key to act as, in key_id (svc sandbox keys list))
hint: `)
    expect(await journalled(cli)).toHaveLength(before)
    const [good] = await journalled(cli, '--session s2')
    const again = await cli.svc(`requests replay ${item!.request_id} --key-id ${good!.key_id}`)
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^status +200, before: 401$/m)])
  })

  test('reports no response when a fault rule breaks the connection', async () => {
    await using cli = await withJournal()
    await cli.svc('sandbox faults add --path /v1/beacons --effect drop')
    const [item] = await journalled(cli, '--path /v1/beacons')
    const { code, stderr } = await cli.svc(`requests replay ${item!.request_id}`)
    expect([code, stderr]).toEqual([7, expect.stringContaining('POST /v1/beacons got no response: flt_1 broke')])
  })
})

describe('requests export', () => {
  test('writes the selected requests as a HAR file, oldest first, without secrets, and lint reads its beacons', async () => {
    await using cli = await withJournal()
    const cwd = temporaryDirectory()
    const { code, stderr } = await cli.svc('requests export journal.har', { cwd })
    expect([code, stderr]).toEqual([0, expect.stringContaining('journal.har, 4 requests.')])
    const text = readFileSync(join(cwd, 'journal.har'), 'utf8')
    expect(text).not.toMatch(/sk_test_(?!redacted)|ast_[0-9a-z]{11}_(?!redacted)/)
    const { log } = JSON.parse(text) as { log: { version: string; entries: HarEntry[] } }
    const seen = log.entries.map(({ request, response }) => `${new URL(request.url).pathname} ${response.status}`)
    expect(seen).toEqual(['/v1/placements 200', '/v1/beacons 200', '/v1/placements 200', '/v1/placements 401'])
    const [first] = log.entries
    expect(first).toMatchObject({ _session_id: 's1', _client_id: 'proj_demo', request: { method: 'POST' } })
    expect(JSON.parse(first!.request.postData!.text)).toMatchObject({ session_id: 's1' })
    expect((await cli.svc('beacons lint journal.har', { cwd })).stderr).toContain('1 beacon: nothing wrong')
  })

  test('goes to stdout without a name, replaces a file only with --force, and is nothing without a request', async () => {
    await using cli = await withJournal()
    const { stdout } = await cli.svc('requests export --status-class 4xx')
    expect((JSON.parse(stdout) as { log: { entries: HarEntry[] } }).log.entries).toHaveLength(1)
    expect((await cli.svc('requests export a.har')).code).toBe(0)
    expect(await cli.svc('requests export a.har')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--force'),
    })
    expect((await cli.svc('requests export a.har --force')).code).toBe(0)
    const none = await cli.svc('requests export --path /v1/none')
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no request that the filters select')])
  })
})

test('at 80 columns a long reason is cut, not its column left out; errors and notes break between words', async () => {
  await using cli = await startTestCli()
  await fetch(`${cli.sandbox.url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_live_sandbox_demo', 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'proj_demo', session_id: 's', job_type: 'chat', test_outcome: 'no_fill' }),
  })
  const { stdout, stderr } = await cli.svc('requests list', { isTerminal: true })
  expect(stderr).not.toContain('reason')
  expect(stripVTControlCharacters(stdout)).toMatch(/test_outcom\S*…/)
  const wide = await cli.svc('placements create --set colour=red --set session_id=s --set job_type=poem', {
    isTerminal: true,
  })
  const lines = stripVTControlCharacters(wide.stderr).trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(4)
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80)
  expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(
    'job_type: is not one of the allowed values (expected: one of chat, code, image, voice, agent)',
  )
})

describe('requests verify', () => {
  test('exits 0 when the count is as expected', async () => {
    await using cli = await withJournal()
    const { code, stdout, stderr } = await cli.svc('requests verify --path /v1/beacons --body event=render --times 1')
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'count      1\nexpected   exactly 1\nlooked at  4 requests\n',
      stderr: '',
    })
    expect((await cli.svc('requests verify --path /v1/placements')).code).toBe(0)
    expect((await cli.svc('requests verify --path /v1/placements --at-least 3')).code).toBe(0)
    expect((await cli.svc('requests verify --path /v1/jobs --none')).code).toBe(0)
  })

  test.each([
    ['/v1/job', ''],
    ['/v1/decisions/slot_1', ''],
    ['/v1/projects/proj_demo/con', ''],
    ['/v1/jobs?wait_ms=1', ''],
    ['/v1/*/becons', ''],
    ['/placements', ''],
    ['/v1/becons', 'No endpoint has a path that begins with /v1/becons.\n'],
    ['/v1/projects/proj_demo/beacons', 'No endpoint has a path that begins with /v1/projects/proj_demo/beacons.\n'],
  ])('none of %s is a pass, and a path that no endpoint has is named', async (path, note) => {
    await using cli = await withJournal()
    const { code, stderr } = await cli.svc(`requests verify --path ${path} --none`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: note })
  })

  test('exits 5 on a miss, and prints the nearest requests', async () => {
    await using cli = await withJournal()
    const { code, stdout, stderr } = await cli.svc('requests verify --path /v1/beacons --body event=visible --times 1')
    expect(code).toBe(5)
    expect(masked(stdout)).toBe(`\
count      0
expected   exactly 1
looked at  4 requests
near   POST /v1/beacons 200  req_*
       body.event is "render", not "visible"
`)
    expect(stderr).toBe('error: Expected exactly 1, found 0.\nhint: See what was sent: svc requests list\n')
  })

  test('prints the matching ones when there are too many', async () => {
    await using cli = await withJournal()
    const { code, stdout } = await cli.svc('requests verify --path /v1/beacons --none -o json')
    expect(code).toBe(5)
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      count: 1,
      expected: 'none',
      matching: [{ path: '/v1/beacons' }],
      nearest: [],
    })
  })

  test('takes only one expectation', async () => {
    await using cli = await startTestCli()
    expect((await cli.svc('requests verify --times 1 --none')).code).toBe(2)
    expect((await cli.svc('requests verify --times few')).code).toBe(2)
  })
})

describe('sandbox logs', () => {
  /** Runs a tail; `ctrlC` ends it. */
  function tail(cli: TestCli, flags: string) {
    const handlers = new Set<(signal: Signal) => void>()
    let text = ''
    const system: Partial<System> = {
      onSignal(handler) {
        handlers.add(handler)
        return () => handlers.delete(handler)
      },
      stdout: {
        is_terminal: false,
        columns: 80,
        write(more) {
          text += more
        },
      },
    }
    const ended = cli.svc(`sandbox logs ${flags}`, { system })
    return {
      lines: () => text.split('\n').slice(0, -1),
      ended,
      ctrlC() {
        for (const handler of handlers) handler('SIGINT')
      },
    }
  }

  test('prints each request once, as it arrives, until Ctrl-C', async () => {
    await using cli = await withJournal()
    const tailing = tail(cli, '--since 1h -o jsonl')
    await expect.poll(() => tailing.lines().length).toBe(4)
    await cli.svc('placements create --session s7')
    await expect.poll(() => tailing.lines().length).toBe(5)
    await cli.svc('beacons send --event render')
    await expect.poll(() => tailing.lines().length).toBe(6)
    tailing.ctrlC()
    const { code, stderr } = await tailing.ended
    expect([code, stderr]).toEqual([130, ''])
    const items = tailing.lines().map((line) => JSON.parse(line) as RequestItem)
    expect(items).toEqual((await journalled(cli)).reverse())
  })

  test('prints only requests that pass its filters', async () => {
    await using cli = await withJournal()
    const tailing = tail(cli, '--since 1h --status-class 4xx')
    await expect.poll(() => tailing.lines().length).toBe(1)
    tailing.ctrlC()
    expect((await tailing.ended).code).toBe(130)
    expect(masked(tailing.lines()[0]!)).toBe('2026-01-31T12:00:00.000Z  401  POST /v1/placements  key_unknown  req_*')
  })
})
