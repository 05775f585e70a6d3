/** What the package itself can show: `svc contract openapi`, `contract show`, the scenarios and render.js. No sandbox is running. */
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { contractListing } from '#contract/listing.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { keptStream, svc, temporaryDirectory } from './test-cli.ts'

interface Document {
  paths: Record<string, object>
  components: Record<string, Record<string, unknown>>
  tags: { name: string }[]
}

const env = { SVC_HOME: temporaryDirectory() }
async function print(flags: string): Promise<{ document: Document; text: string }> {
  const { code, stdout, stderr } = await svc(`contract openapi ${flags}`, { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return { document: JSON.parse(stdout) as Document, text: stdout }
}

test('without a sandbox it prints the whole document, as text and as JSON', async () => {
  const whole = JSON.parse(JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' }))) as unknown
  expect((await print('')).document).toEqual(whole)
  expect((await print('-o json')).document).toEqual(whole)
  expect(await svc('contract openapi --v1 --control', { env })).toMatchObject({ code: 2, stdout: '' })
})

test.each([
  ['--v1', /^v1$/, /^\/v1\//],
  ['--control', /^sandbox/, /^\/_sandbox\//],
])('%s prints one part, with no component that it does not refer to', async (flag, tag, prefix) => {
  const { document, text } = await print(flag)
  for (const { name } of document.tags) expect(name).toMatch(tag)
  expect(Object.keys(document.paths).length).toBeGreaterThan(5)
  for (const path of Object.keys(document.paths)) expect(path).toMatch(prefix)
  const references = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, name]) => name))
  expect(references.size).toBeGreaterThan(10)
  for (const kind of ['schemas', 'headers', 'examples']) {
    for (const name of Object.keys(document.components[kind]!)) expect(references).toContain(`${kind}/${name}`)
  }
})

test('contract openapi is the same document', async () => {
  const { code, stdout } = await svc('contract openapi --v1', { env })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual((await print('--v1')).document)
})

test('contract show lists fields with type, presence, provenance and description, within 80 columns', async () => {
  const { code, stdout, stderr } = await svc('contract show placements.create', { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^placements\.create {2}POST \/v1\/placements {2}stable, documented\n {2}query\n/)
  const field =
    /^ {4}slot_hint\.position +string +optional {2}documented A38\n {6}Where the slot is on the surface\. One of: /m
  expect(stdout).toMatch(field)
  expect(stdout).toMatch(/^ {4}client_id +string +required {2}documented\n {6}Project ID\.$/m)
  const whole = await svc('contract show', { env })
  expect(whole.stdout).toContain(stdout)
  expect(whole.stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  const json = await svc('contract show -o json', { env })
  expect(JSON.parse(json.stdout)).toEqual(JSON.parse(JSON.stringify(contractListing())))
  const one = JSON.parse((await svc('contract show health.live -o json', { env })).stdout)
  expect(one.endpoints).toMatchObject([{ id: 'health.live' }])
})

test('contract show keeps within a terminal of 60 columns', async () => {
  const stdout = { ...keptStream(true), columns: 60 }
  await svc('contract show', { env: { ...env, SVC_PAGER: '' }, system: { stdout } })
  const lines = stripVTControlCharacters(stdout.text).split('\n')
  expect(lines.length).toBeGreaterThan(1_000)
  expect(lines.filter((line) => line.length > 60)).toEqual([])
  expect(lines).toContain('placements.create  POST /v1/placements  stable, documented')
})

test('sandbox scenario list shows the catalogue', async () => {
  const { code, stdout } = await svc('sandbox scenario list -o json', { env })
  const { items } = JSON.parse(stdout) as { items: { name: string; active: boolean }[] }
  expect({ code, count: items.length > 30 }).toEqual({ code: 0, count: true })
  expect(items).toContainEqual(expect.objectContaining({ name: 'banner_ok', active: false }))
  expect(items.map(({ name }) => name)).toEqual(items.map(({ name }) => name).toSorted())
})
