/** The observer of an integrator's page in a real browser, in short: a page that is right, and one that is not. All of it: tests/pages. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { judgePage, nameOf, steps } from '#tests/observe/judged.ts'
import { cleanPage, wrongPages } from '#tests/observe/pages.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ database: ':memory:', seed: 1 })
})
afterAll(() => sandbox?.[Symbol.asyncDispose]())

test('a correct page violates no rule, and its ad was brought into view', async () => {
  const seen = steps('- wait_for: { type: beacon, event: visible }', 100_000)
  const { of, violated } = await judgePage(sandbox, { ...cleanPage, for_ms: 0 }, seen)
  expect(violated).toEqual([])
  expect(of('holds', true).map(nameOf)).toEqual(
    expect.arrayContaining(['label-hidden', 'frame-blocked', 'page-errors']),
  )
})

test('a page that serves a secret key is named for it', { tags: 'depth' }, async () => {
  const { violated, cases } = await judgePage(sandbox, { ...wrongPages['secret-key-served'], for_ms: 0 })
  expect(violated).toEqual(['secret-key-served'])
  expect(cases.find((item) => nameOf(item) === 'secret-key-served')?.outcome).toBe('failed')
})

test('a page that loads render.js from another sandbox is named for it', async () => {
  await using judged = await startSandbox({ database: ':memory:', seed: 1 })
  const asked = { body: `<div id="slot"></div>`, until: 'typeof SponsoredPlacement === "object"', for_ms: 0 }
  const { cases, violated } = await judgePage(judged, asked, undefined, sandbox)
  expect(violated).toEqual(['renderer-elsewhere'])
  expect(cases.find((item) => nameOf(item) === 'renderer-elsewhere')?.outcome).toBe('failed')
})
