/** Sentences of the documentation that state a fact of running code: each is compared with it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backoff } from '#client/integration.ts'
import { contract, v1 } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import { tools } from '#mcp/tools.ts'
import { startSandbox } from '#sandbox/index.ts'

const root = join(import.meta.dirname, '../..')
const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', 'action.yml', ...globSync('{docs,deploy}/**/*.{md,yaml,json}', { cwd: root })]

/** The cells of a row of a table, by the text of its first one. */
function listCells(path: string, first: string): string[] {
  const row = textOf(path)
    .split('\n')
    .find((line) => line.startsWith(`| ${first} |`))
  return row!.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''))
}

test('keys.md says what an activation token can do, and how long', () => {
  const words: Readonly<Record<string, string>> = { projects: 'runtime config' }
  const accepted = Object.values(v1).filter(({ credentials }) => {
    return (credentials as readonly string[]).includes('activation_token')
  })
  const nouns = new Set(accepted.map(({ id }) => id.split('.')[0]!))
  const [, , place, abilities] = listCells('docs/concepts/keys.md', 'activation token')
  for (const noun of nouns) expect(abilities).toContain(words[noun] ?? noun)
  expect(abilities!.split(', ')).toHaveLength(nouns.size)
  expect(limits.activation_token_ttl_ms).toBe(600_000)
  expect(place).toContain('ten minutes')
  const beacon = Object.values(v1).filter(({ credentials }) =>
    (credentials as readonly string[]).includes('beacon_token'),
  )
  expect(beacon.map(({ id }) => id)).toEqual(['beacons.send'])
  expect(listCells('docs/concepts/keys.md', 'beacon token').at(-1)).toBe('the beacons of that ad')
})

test('no page says that keys list shows secrets', () => {
  const fields = Object.keys((contract['keys.list'].response as { shape: object }).shape)
  expect(fields).not.toContain('key')
  for (const page of pages) expect(textOf(page), page).not.toMatch(/keys list`? shows (them|the keys)/)
})

test('server.md has the pauses of the client', () => {
  const [, pauses = ''] = /at most three times, after (.*?) s \|/.exec(textOf('docs/guides/server.md')) ?? []
  const said = pauses.split(/, | and /).map((text) => Number(text) * 1_000)
  expect(said).toEqual([500, 1_000, 2_000])
  for (const [count, pause_ms] of said.entries()) {
    expect(backoff(count)).toBeGreaterThanOrEqual(pause_ms)
    expect(backoff(count)).toBeLessThanOrEqual(1.25 * pause_ms)
  }
})

test('every size of a script says that it is compressed', () => {
  const sizes = pages
    .filter((page) => !page.startsWith('docs/decisions/'))
    .flatMap((page) =>
      textOf(page)
        .replaceAll('\n', ' ')
        .split(/(?<=[.|]) (?=[A-Z|`])/)
        .filter(
          (sentence) =>
            /\b\d+(\.\d+)? kB\b/.test(sentence) && /render\.js|mounts\.js|client|script|page of/.test(sentence),
        ),
    )
  expect(sizes.length).toBeGreaterThan(2)
  for (const sentence of sizes) expect(sentence).toMatch(/gzip|brotli/)
})

test('the archive that pages name is the one that npm pack writes', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  const named = pages.flatMap((page) =>
    [...textOf(page).matchAll(/svc-sandbox-(\d+\.\d+\.\d+)\.tgz/g)].map(([, found]) => found),
  )
  expect(named.length).toBeGreaterThan(2)
  expect(new Set(named)).toEqual(new Set([version]))
  // It is in no checkout: a step has to make it before another installs it.
  const steps = textOf('docs/guides/ci.md')
  expect(steps.indexOf('cd svc && npm ci && npm pack')).toBeGreaterThan(0)
  expect(steps.indexOf('cd svc && npm ci && npm pack')).toBeLessThan(steps.indexOf('./svc/svc-sandbox-'))
})

test('agents.md says how the input of send_beacon differs from that of its endpoint', () => {
  const { input } = tools.find(({ name }) => name === 'send_beacon')!
  const beacon = { event: 'render', slot_id: 'slot_038k9tmm001' }
  expect(input.safeParse(beacon).success).toBe(true)
  expect(input.safeParse({ ...beacon, asset_token: 'ast_x' }).success).toBe(false)
  expect(input.safeParse({ event: 'render' }).success).toBe(false)
  expect(textOf('docs/guides/agents.md').replaceAll('\n', ' ')).toContain(
    '`send_beacon` takes a `slot_id` and no `asset_token`, because tokens are redacted in results; its `beacon_id` and time may be left out.',
  )
})

test('--strict leaves the control plane and the pages, and takes the older routes', async () => {
  for (const page of pages)
    expect(textOf(page), page).not.toMatch(
      /(?<!Of the API, `)--strict`? serves only the (routes (in|of) the )?API document/,
    )
  await using sandbox = await startSandbox({ strict: true })
  const readStatus = async (path: string, method = 'GET') => (await fetch(`${sandbox.url}${path}`, { method })).status
  for (const path of ['/_sandbox/info', '/_sandbox/demo', '/_sandbox/', '/v1/render.js'])
    expect([path, await readStatus(path)]).toEqual([path, 200])
  expect(await readStatus('/public/wrapper/v1/jobs', 'POST')).toBe(404)
})
