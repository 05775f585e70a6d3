/**
 * What users of svc can name, frozen as text: operations, rules, error codes, the fields of JSON output, the modules of the
 * package. Files may move and be renamed freely; these lists may not change by that. Prose (descriptions, messages, hints)
 * and values are left out, and so is what a committed file lists already: flags are in docs/commands.md, fields of the API in
 * docs/reference.md, cases in src/judge/qa/suites, schemas of files in fixtures.
 *
 * Everything is seen from the outside: the command line in this process, HTTP, and the public modules. A failing file
 * under `frozen/` means that something public changed. If that is intended, write the files again and say why in the
 * commit: `vitest run tests/surface -u`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as clientModule from '#client/index.ts'
import * as contractModule from '#contract/exports.ts'
import * as sandboxModule from '#sandbox/index.ts'
import { keptStream, noon, type Result, type RunOptions, startTestCli, type TestCli } from '#tests/cli/test-cli.ts'
import { createShapePrinter, type JsonObject } from './shape.ts'

const root = join(import.meta.dirname, '../..')

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

test('commands, exit codes, settings', async () => {
  const listed = [...(await readStdout('--help')).matchAll(/^ {2}svc (\S+(?: \S+)?) {2,}/gm)].map(
    ([, name]) => name ?? '',
  )
  await matches('commands.txt', [
    `root help lists: ${listed.join(', ')}`,
    '',
    'svc help exit-codes',
    ...(await readStdout('help exit-codes')).split('\n').flatMap((line) => {
      const [, numbers] = /^ *(\d+ +[a-z_]+(?: +\d+)?) /.exec(line) ?? []
      return numbers === undefined ? [] : [`  ${numbers.replaceAll(/ +/g, ' ')}`]
    }),
    '',
    'svc help settings: flag, environment, file',
    ...(await readStdout('help settings')).split('\n').flatMap((line) => {
      const [flag = '', env = '', file = ''] = line.split(/ {2,}/)
      return /^SVC_/.test(env) ? [`  ${flag}  ${env}  ${file}`] : []
    }),
  ])
})

test('the API: operations and names of schemas', async () => {
  const response = await fetch(`${cli.sandbox.url}/_sandbox/openapi.json`)
  const { paths, components } = (await response.json()) as { paths: JsonObject; components: JsonObject }
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).map(([method, operation]) =>
      operationLine(`${method.toUpperCase()} ${path}`, operation as JsonObject),
    ),
  )
  const pages = ['/', '/_sandbox/', '/_sandbox/demo', '/_sandbox/demo/', '/v1/render.js', '/nowhere'].map(
    async (path) => {
      const { status, headers } = await fetch(cli.sandbox.url + path, { redirect: 'manual' })
      return `GET ${path}: ${[status, headers.get('content-type') ?? 'no content', headers.get('location') ?? ''].join(' ')}`
    },
  )
  await matches('openapi.txt', [
    ...(await Promise.all(pages)),
    `security schemes: ${Object.keys(components.securitySchemes as JsonObject).join(' ')}`,
    '',
    ...operations,
    '',
    ...Object.keys(components.schemas as JsonObject).map((name) => `schema ${name}`),
  ])
})

test('ids of rules: qa observe, doctor, beacons lint, contract check', async () => {
  await using own = await startTestCli()
  const observed = JSON.parse(await readStdout('observe --since 10m -o json', {}, own)) as { cases: { id: string }[] }
  const documented = readFileSync(join(root, 'docs/qa-observe.md'), 'utf8')
  const rules = observed.cases.map(({ id }) => {
    const name = id.replace('observe/', '')
    const severity = new RegExp(`\\| \`${name}\` \\| (error|warning) \\|`).exec(documented)?.[1]
    return `observe  ${id}  ${severity ?? 'undocumented'}`
  })

  const doctor = JSON.parse(await readStdout('doctor -o json', {}, own)) as {
    findings: { group: string; check: string }[]
  }
  const checks = doctor.findings.map(({ group, check }) => `doctor  ${group}: ${check}`)

  const found = await lintCodes(own)
  const compared = JSON.parse(await readStdout('contract check -o json', {}, own)) as {
    endpoints: { endpoint: string; checks: { check: string }[]; not_checked: { check: string }[] }[]
  }
  const probes = compared.endpoints.flatMap(({ endpoint, checks: done, not_checked }) => [
    ...done.map(({ check }) => `contract check  ${endpoint}: ${check}`),
    ...not_checked.map(({ check }) => `contract check  ${endpoint}: ${check} (not checked)`),
  ])
  await matches('rules.txt', [...rules, '', ...new Set(checks), '', ...found, '', ...probes])
})

test('reason codes, no-fill reasons, accept codes', async () => {
  const contract = JSON.parse(await readStdout('contract show -o json')) as {
    reason_codes: { reason_code: string; error: string; status: number; retryable: boolean; decision: string | null }[]
    no_fill_reasons: { no_fill_reason: string; origin: string; nbr: number; retry: string; retryable: boolean }[]
    endpoints: { id: string; fields: { where: string; path: string; values: string[] | null }[] }[]
  }
  const accepted = contract.endpoints
    .filter(({ id }) => id === 'beacons.send')
    .flatMap(({ fields }) => fields.filter(({ where, values }) => where === 'response' && values !== null))
  await matches('errors.txt', [
    ...contract.reason_codes.map(
      ({ reason_code, error, status, retryable, decision }) =>
        `reason_code ${reason_code}: ${status} ${error} ${retryable ? 'retryable' : 'final'} ${decision ?? ''}`,
    ),
    ...contract.no_fill_reasons.map(
      ({ no_fill_reason, origin, nbr, retry, retryable }) =>
        `no_fill_reason ${no_fill_reason}: ${origin} nbr ${nbr}, retry ${retry}, ${retryable ? 'retryable' : 'final'}`,
    ),
    ...accepted.flatMap(({ path, values }) => (values ?? []).map((value) => `beacon answer ${path}: ${value}`)),
  ])
})

test('fields of JSON output', async () => {
  await using own = await startTestCli()
  const lines: string[] = []
  const printShapes = createShapePrinter()
  for (const [args, options] of session) {
    const isStream = streams.includes(args)
    // An app that makes a mistake: what the commands were refused is not one.
    if (args.startsWith('observe')) await refuse(own.sandbox.url)
    const { code, stdout, stderr } = isStream
      ? await untilQuiet(own, args)
      : await own.svc(`${args} -o json`, { cwd: own.home, ...options })
    const [stream, printed] = stdout === '' ? ['stderr', stderr] : ['stdout', stdout]
    const isJson = /^[[{]/.test(printed)
    const isLines = isStream || args.startsWith('sandbox logs')
    const documents = isJson ? (isLines ? printed.trim().split('\n') : [printed]) : []
    lines.push(`svc ${args}  (${isJson ? `JSON on ${stream}` : 'no JSON'}, exit ${code})`)
    lines.push(...(isJson ? printShapes(documents, args).map((line) => `  ${line}`) : []), '')
  }
  await matches('json-shapes.txt', lines)
})

async function refuse(url: string): Promise<void> {
  const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
  const body = JSON.stringify({ client_id: 'proj_demo', session_id: 's9', job_type: 'poem' })
  await fetch(`${url}/v1/placements`, { method: 'POST', headers, body })
}

test('modules of the package', async () => {
  const { bin, exports } = readJson('package.json') as { bin: JsonObject; exports: JsonObject }
  const client = clientModule.createClient({ base_url: cli.sandbox.url })
  await matches('modules.txt', [
    ...Object.entries(bin).map(([name, file]) => `bin ${name}: ${String(file)}`),
    ...Object.keys(exports).map((name) => `export ${name}`),
    ...Object.keys(sandboxModule)
      .sort()
      .map((name) => `sandbox: ${name}`),
    ...Object.keys(contractModule)
      .sort()
      .map((name) => `contract: ${name}`),
    ...Object.keys(cli.sandbox)
      .sort()
      .map((name) => `startSandbox(): ${name}`),
    ...Object.keys(clientModule)
      .sort()
      .map((name) => `client: ${name}`),
    ...memberNames(client, '').map((name) => `createClient(): ${name}`),
  ])
})

/** Commands that print one document a line, until they are interrupted. */
const streams = ['sandbox logs --since 10m', 'beacons tail --since 10m', 'sandbox events --since-seq 0']

type TestSystem = Required<NonNullable<RunOptions['system']>>

/** Runs a stream until it has printed nothing for half a second, then interrupts it. */
async function untilQuiet(own: TestCli, args: string): Promise<Result> {
  let interrupt = () => {}
  let timer: NodeJS.Timeout | undefined
  const stdout: TestSystem['stdout'] & { text: string } = keptStream(false)
  const write = stdout.write
  stdout.write = (text) => {
    write.call(stdout, text)
    clearTimeout(timer)
    timer = setTimeout(() => interrupt(), 500)
  }
  const onSignal: TestSystem['onSignal'] = (handler) => {
    interrupt = () => handler('SIGINT')
    return () => {}
  }
  const result = await own.svc(`${args} -o json`, { system: { stdout, onSignal } })
  return { ...result, stdout: stdout.text }
}

const beacon = { beacon_id: 'instance-1:render', asset_token: 'ast_a', event: 'render', occurred_at_ms: noon }

/** One story, command by command; each may use what those before it left in the sandbox. */
const session: [args: string, options?: RunOptions][] = [
  ['sandbox status'],
  ['sandbox env'],
  ['placements create --session s1 --format banner --topic coffee'],
  ['api render.frame'],
  ['beacons send --event render'],
  ['explain'],
  ['api decisions.get'],
  ['placements create --session s2 --format clip'],
  ['placements create --session s3 --format native'],
  ['placements create --session s4 --no-fill'],
  ['explain'],
  ['placements create --no-fill --expect fill'],
  ['placements create --set slot_hint.max_width=0'],
  ['placements create --nonsense'],
  ['placements list'],
  ['api jobs.create --session-id s5 --job-type code --slots-requested 2'],
  ['api browser.activate'],
  ['api consent.set --session-id s6 --decision granted --set purposes.semantic_targeting=true'],
  ['api consent.set --decision withdrawn --session-id s6'],
  ['api consent.list'],
  ['sandbox projects list'],
  ['sandbox projects show'],
  ['api projects.config'],
  ['sandbox projects create proj_surface --set allowed_origins=https://shop.example'],
  ['sandbox projects update proj_surface --billing-model cpc'],
  ['sandbox keys list'],
  ['sandbox keys create'],
  ['sandbox keys revoke key_00000000009'],
  ['team tokens create --name ci'],
  ['team tokens list'],
  ['team tokens revoke ci'],
  ['team audit'],
  ['team namespaces list'],
  ['beacons list'],
  ['beacons lint -', { stdin: JSON.stringify([beacon, { ...beacon, event: 'clicked', colour: 1 }]) }],
  ['requests list'],
  ['requests show'],
  ['requests list --body job_type=chat'],
  ['requests verify --path /v1/placement --method POST'],
  ['requests verify --path /v1/placements --at-least 1'],
  ['requests verify --path /v1/placements --none'],
  ['requests replay'],
  ...streams.map((args): [string] => [args]),
  ['sandbox logs --no-follow --since 10m'],
  ['beacons billing'],
  ['beacons reconcile -', { stdin: 'slot_id,impressions,views\nslot_00000000zzz,1,0\n' }],
  ['evidence list'],
  ['evidence verify'],
  ['evidence export evidence.jsonl'],
  ['evidence verify evidence.jsonl'],
  ['evidence tamper evidence.jsonl tampered.jsonl'],
  ['evidence verify tampered.jsonl'],
  ['contract show'],
  ['contract check'],
  ['doctor'],
  ['qa list'],
  ['qa show formats'],
  ['qa validate formats'],
  ['qa run formats --grep banner'],
  ['observe --since 10m'],
  ['config list'],
  ['config get base_url'],
  ['config set client_id proj_demo --profile local'],
  ['config use local'],
  ['config validate'],
  ['init --list'],
  ['init node-server my-server --dry-run'],
  ['sandbox ps'],
  ['sandbox status --check'],
  ['sandbox clock show'],
  ['sandbox clock advance 1m'],
  ['sandbox clock freeze'],
  ['sandbox clock resume'],
  ['sandbox faults add --path /v1/never --times 2'],
  ['sandbox faults list'],
  ['sandbox faults remove --all'],
  ['sandbox scenario list'],
  ['sandbox scenario use banner_ok'],
  ['sandbox scenario use none'],
  ['sandbox snapshot save before'],
  ['sandbox snapshot list'],
  ['sandbox snapshot restore before'],
  ['sandbox snapshot delete before'],
  ['sandbox export all.svc.gz'],
  ['sandbox import all.svc.gz'],
  ['sandbox reset'],
]

/** Prints the codes that `svc beacons lint` finds in a file with every mistake it knows, each with its severity. */
async function lintCodes(own: TestCli): Promise<string[]> {
  const seen = { visible_ratio: 1, visible_ms: 1_200, width_px: 300, height_px: 250, page_visible: true }
  const visible = {
    ...beacon,
    beacon_id: 'instance-1:visible',
    event: 'visible',
    occurred_at_ms: noon + 2_000,
    measurements: seen,
  }
  const early = { ...beacon, occurred_at_ms: noon - 20_000 }
  const played = (event: string, ms: number, position_ms: number) => ({
    ...beacon,
    beacon_id: `instance-1:${event}:${ms}`,
    event,
    occurred_at_ms: noon - 20_000 + ms,
    measurements: { position_ms, duration_ms: 8_000 },
  })
  const har = (url: string, body: object, mimeType: string) => ({
    log: {
      entries: [
        {
          startedDateTime: '2026-01-31T12:00:00Z',
          request: { method: 'POST', url, postData: { mimeType, text: JSON.stringify(body) } },
        },
      ],
    },
  })
  const files: string[] = [
    '{"a":1,}',
    ...[
      [visible],
      [beacon, { ...visible, measurements: { ...seen, visible_ms: 900 } }],
      [beacon, { ...visible, measurements: { ...seen, page_visible: false } }],
      [beacon, visible, visible],
      [beacon, visible, { ...visible, beacon_id: 'instance-1:again' }],
      [beacon, { ...visible, measurements: undefined }],
      [beacon, { ...visible, measurements: { ...seen, visible_ms: 90_000 } }],
      [beacon, { ...visible, occurred_at: '2026-01-31T11:59:00Z' }],
      [beacon, { ...visible, occurred_at: '2026-01-31T12:00:01Z', occurred_at_ms: noon + 1_999 }],
      [beacon, { ...visible, beacon_id: beacon.beacon_id }],
      [
        { ...beacon, slot_id: 'slot_a' },
        { ...visible, slot_id: 'slot_b' },
      ],
      [early, played('play_started', 0, 0), played('play_completed', 2_000, 8_000)],
      [early, played('heartbeat', 6_000, 9_000)],
      [{ ...beacon, event: 'clicked' }],
      [{ ...beacon, colour: 'x' }],
      [{ ...beacon, seq: 'one' }],
      [{ ...beacon, occurred_at_ms: noon / 1_000 }],
      [{ ...beacon, occurred_at_ms: noon + 90_000 }],
      [{ ...beacon, occurred_at_ms: noon - 400_000 }],
      [{ ...beacon, asset_token: 'sk_test_secret' }],
      [{ ...beacon, contract_version: 'a/v2' }],
      [{ ...beacon, metadata: { text: 'x'.repeat(9_000) } }],
      [beacon, [beacon]],
    ].map((bodies) => bodies.map((body) => `${JSON.stringify(body)}\n`).join('')),
    JSON.stringify(har('https://api.test/v1/beacons', beacon, 'text/plain')),
    JSON.stringify(har('https://api.test/public/browser/v1/beacons', beacon, 'application/json')),
  ]
  const codes = new Set<string>()
  for (const stdin of files) {
    const { stdout } = await own.svc('beacons lint - --now now -o json', { stdin })
    const { findings } = JSON.parse(stdout) as { findings: { severity: string; code: string }[] }
    for (const { severity, code } of findings) codes.add(`beacons lint  ${code}  ${severity}`)
  }
  return [...codes].sort()
}

function operationLine(title: string, { operationId, tags, security, ...rest }: JsonObject): string {
  const credentials = ((security ?? []) as JsonObject[]).flatMap((row) => Object.keys(row))
  const extensions = Object.entries(rest).flatMap(([key, value]) =>
    key.startsWith('x-') && typeof value !== 'object' ? [`${key}=${value}`] : [],
  )
  const facts = [operationId, `tags=${(tags as string[]).join(',')}`, `security=${credentials.join(',') || 'none'}`]
  return [title, ...facts, ...extensions].join('  ')
}

function memberNames(value: object, path: string): string[] {
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, member]: [string, unknown]) =>
      typeof member === 'object' && member !== null ? memberNames(member, `${path}${name}.`) : [`${path}${name}`],
    )
}

async function readStdout(args: string, options: RunOptions = {}, of: TestCli = cli): Promise<string> {
  const { stdout, stderr } = await of.svc(args, options)
  expect(stdout, `svc ${args}: ${stderr}`).not.toBe('')
  return stdout
}

function readJson(path: string): JsonObject {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as JsonObject
}

async function matches(file: string, lines: readonly string[]): Promise<void> {
  await expect(
    `${lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trim()}\n`,
  ).toMatchFileSnapshot(`frozen/${file}`)
}
