/** `svc openapi`: the document of the contract, whole or a part of it. */
import { expect, test } from 'vitest'
import { openapiDocument } from '../../src/contract/openapi.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

interface Document {
  paths: Record<string, object>
  components: Record<string, Record<string, unknown>>
  tags: { name: string }[]
}

const env = { SVC_HOME: temporaryDirectory() }
async function print(flags: string): Promise<{ document: Document; text: string }> {
  const { code, stdout, stderr } = await svc(`openapi ${flags}`, { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return { document: JSON.parse(stdout) as Document, text: stdout }
}

test('without a sandbox it prints the whole document, as text and as JSON', async () => {
  const whole = JSON.parse(JSON.stringify(openapiDocument({ server_url: 'http://127.0.0.1:4010' }))) as unknown
  expect((await print('')).document).toEqual(whole)
  expect((await print('-o json')).document).toEqual(whole)
  expect(await svc('openapi --v1 --control', { env })).toMatchObject({ code: 2, stdout: '' })
})

test.each([
  ['--v1', 'v1', /^\/v1\//],
  ['--control', 'sandbox', /^\/_sandbox\//],
])('%s prints one part, with every component that it refers to and no other', async (flag, tag, prefix) => {
  const { document, text } = await print(flag)
  expect(document.tags.map(({ name }) => name)).toEqual([tag])
  expect(Object.keys(document.paths).length).toBeGreaterThan(5)
  for (const path of Object.keys(document.paths)) expect(path).toMatch(prefix)
  const references = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, name]) => name))
  expect(references.size).toBeGreaterThan(10)
  for (const kind of ['schemas', 'headers', 'examples']) {
    for (const name of Object.keys(document.components[kind]!)) expect(references).toContain(`${kind}/${name}`)
  }
  for (const reference of references) {
    const [kind = '', name = ''] = reference!.split('/')
    expect(document.components[kind]).toHaveProperty([name])
  }
})
