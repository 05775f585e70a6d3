/** In Firefox and WebKit: the renderer's suite, and the observer of an integrator's page, as commands. `npm test` has Chromium's. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import type { RunResult } from '#qa/result.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'
import { computer } from '#tests/computer.ts'
import { startApp } from '#tests/observe/app.ts'
import { cleanPage, type Page, wrongPages } from '#tests/observe/pages.ts'

const engine = process.env.SVC_ENGINE
const home = temporaryDirectory()
const context = { env: { SVC_HOME: home }, system: { now: () => Date.now(), own_engines: computer.own_engines } }

let shared: Sandbox
beforeAll(async () => {
  shared = await startSandbox({ database: ':memory:', seed: 1 })
  const { url, inspector_url, database, pid, version, projects } = shared
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: Date.now() })
})
afterAll(() => shared?.close())

/** Of each thing that engines do in their own way one case: sizes, pixels, pointers, clips, times, requests. */
const picked = [
  'is painted below its label',
  '30 percent of a large banner',
  'a click on a (banner|clip)',
  'a clip plays to its end',
  'with reduced motion',
  'consent that expires',
  'a second fill',
  'two 500',
]

test('qa run: the suite of the renderer passes, and what the browser cannot do is not applicable', async () => {
  const { code, stdout, stderr } = await svc(
    `qa run renderer --fresh --browser ${engine} --timeout 30s -o json -g '${picked.join('|')}'`,
    context,
  )
  expect(stderr).toBe('')
  const { cases, target } = JSON.parse(stdout) as RunResult
  const failed = cases.filter(({ outcome }) => outcome === 'failed')
  const left = cases.filter(({ outcome }) => outcome === 'not_applicable').map(({ reason }) => reason)
  expect(
    failed.map(({ id, steps }) => [
      id,
      steps.map(({ reason, checks }) => [reason, checks.filter(({ passed }) => !passed)]),
    ]),
  ).toEqual([])
  expect(left).toEqual(
    engine === 'firefox' ? [expect.stringContaining('needs reduced_motion, which svc cannot set')] : [],
  )
  expect({ code, passed: cases.length - left.length >= 10, browser: target.browser }).toEqual({
    code: 0,
    passed: true,
    browser: expect.stringMatching(engine === 'firefox' ? /^Firefox \d/ : /^WebKitGTK \d/),
  })
})

describe('observe --url', () => {
  const observe = async (page: Page) => {
    await using app = await startApp(shared.url, page)
    const { code, stdout } = await svc(
      `observe --url ${app.url} --browser ${engine} --for 6s --strict -o json`,
      context,
    )
    const { cases } = JSON.parse(stdout) as RunResult
    const listIds = (...standings: string[]) =>
      cases.filter(({ tags }) => standings.includes(tags[0]!)).map(({ id }) => id.replace('observe/', ''))
    return { code, violated: listIds('error', 'warning'), holds: listIds('holds') }
  }

  test('a page that is right violates no rule, and its ad was looked at', async () => {
    const { code, violated, holds } = await observe(cleanPage)
    expect({ code, violated }).toEqual({ code: 0, violated: [] })
    expect(holds).toEqual(expect.arrayContaining(['label-hidden', 'slot-blank', 'frame-blocked', 'mounted-twice']))
  })

  test.each(['frame-blocked', 'mounted-twice'] as const)('names %s', async (rule) => {
    const { code, violated } = await observe(wrongPages[rule])
    expect({ code, violated }).toEqual({ code: 5, violated: expect.arrayContaining([rule]) })
  })
})
