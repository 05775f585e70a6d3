/** `svc qa hosts` as a command: what it refuses, its list, and a page on which nothing is seen. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

test.each([
  ['qa hosts --only strict-scp', 'There is no condition', 'Did you mean strict-csp?'],
  ['qa hosts --only plain --except plain', 'No condition is left', 'Name fewer with --except.'],
  ['qa hosts --url https://localhost:3000', 'is served over TLS', 'http://localhost is as secure'],
  ['qa hosts --url localhost:3000', 'is not the address of a page', 'http://localhost:3000'],
  ['qa hosts --filter-list missing.txt', 'missing.txt', ''],
])('%s is refused', async (words, message, hint) => {
  const { code, stderr } = await cli.svc(words)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  expect(stderr).toContain(hint)
})

test('nothing seen is a failure that says what was looked at', async () => {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<p>No ad here.</p>'),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://localhost:${(server.address() as AddressInfo).port}/`
  const { code, stdout } = await cli
    .svc(`qa hosts --url ${url} --only plain --for 1s -o json`)
    .finally(() => server.close())
  const { conditions } = JSON.parse(stdout)
  expect(code).toBe(5)
  expect(conditions).toEqual([
    {
      condition: 'plain',
      title: 'As it is',
      shows: false,
      counts: false,
      why_not: expect.stringMatching(
        /^Nothing was seen: no placement, no event, no frame. Looked at: [12] requests of http/,
      ),
      missing: `<script src="${cli.sandbox.url}/v1/render.js" async></script>`,
      simulated: null,
      looked_at: expect.stringMatching(/ 0 of them to the service; 0 events of render.js; 0 placements$/),
    },
  ])
})

test('strings of a consent tool are decoded where a placement is explained and consent is shown', async () => {
  const { encodeConsentStrings } = await import('#foundation/consent/strings.ts')
  const now_ms = Date.UTC(2026, 10, 26, 12)
  const { tcf, gpp } = encodeConsentStrings({ purposes: [1, 7], vendors: [4, 5, 9], now_ms })
  const set = `api consent.set --session-id told --decision granted --set purposes.semantic_targeting=true`
  expect((await cli.svc(`${set} --set tcf_string=${tcf} --set gpp_string=${gpp}`)).stderr).toBe('')
  await cli.svc('placements create --session-id told --consent none')
  const explained = await cli.svc('explain')
  expect(explained.stdout).toMatch(/^tcf +CMP 4095, made 2026-11-26, purposes 1 7, 3 vendors$/m)
  expect(explained.stdout).toMatch(/^gpp +tcfeuv2, CMP 4095, made 2026-11-26, purposes 1 7, 3 vendors$/m)
  const shown = JSON.parse((await cli.svc('api consent.list --session-id told -o json')).stdout)
  expect(shown.items[0].strings[0]).toEqual({
    field: 'tcf_string',
    standard: 'tcf',
    problem: null,
    created_at_ms: Date.UTC(2026, 10, 26),
    cmp_id: 4095,
    purposes: [1, 7],
    vendors: 3,
    sections: [],
    opt_outs: [],
  })
  const broken = [
    ['tcf_string', gpp, 'It is a GPP string: send it as gpp_string.'],
    ['gpp_string', tcf, 'It is a TCF string: send it as tcf_string.'],
    ['tcf_string', tcf.slice(0, 20), 'It is cut off or damaged:'],
    ['tcf_string', 'C<script>', 'It has characters that no string has: < >'],
  ] as const
  for (const [index, [field, text, problem]] of broken.entries()) {
    await cli.svc(`api consent.set --session-id broken_${index} --decision granted --set '${field}=${text}'`)
    const { stdout } = await cli.svc(`api consent.list --session-id broken_${index}`)
    expect(stdout).toContain(`${field} cannot be decoded: ${problem}`)
  }
})
