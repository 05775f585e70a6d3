/** `svc observe --url`: a real browser on pages of an integrator: each violates one rule, and one violates none. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { createClient } from '#client/index.ts'
import { describeEnding } from '#contract/words/renderer-errors.ts'
import { type WatchOptions, watchPage } from '#diagnosis/facts/page.ts'
import { allPageRules } from '#diagnosis/rules/index.ts'
import { turnRules } from '#diagnosis/rules/turns.ts'
import type { CaseResult } from '#qa/result.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { startTestCli, svc, temporaryDirectory } from '#tests/cli/test-cli.ts'
import { startApp } from '#tests/observe/app.ts'
import { isInView, judgePage, nameOf, steps } from '#tests/observe/judged.ts'
import {
  askingPage,
  askingSteps,
  changedPage,
  cleanPage,
  hiddenPages,
  lossyPages,
  mistypedPage,
  naiveLists,
  nestedPages,
  type Page,
  twinPage,
  wrongPages,
} from '#tests/observe/pages.ts'
import { wait_ms } from '#tests/patience.ts'

vi.setConfig({ maxConcurrency: 5 })

const home = temporaryDirectory()
let shared: Sandbox

beforeAll(async () => {
  shared = await startSandbox({ database: ':memory:', seed: 1 })
  const { url, inspector_url, database, pid, version, projects } = shared
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: Date.now() })
})
afterAll(() => shared?.close())

const judged = (page: Page, drive?: WatchOptions['drive'], sandbox = shared) => judgePage(sandbox, page, drive)

test.each(Object.entries(nestedPages))('an ad %s is brought into view and judged', async (_where, page) => {
  const seen = new Set<string>()
  const drive: WatchOptions['drive'] = async (browser) => {
    await vi.waitFor(
      async () => {
        for (const frame of browser.frames()) {
          const events = await frame.evaluate('window.SponsoredPlacement?.getEvents() ?? []').catch(() => [])
          for (const { type } of events as { type: string }[]) seen.add(type)
        }
        expect(seen).toContain('visible')
      },
      { timeout: wait_ms, interval: 250 },
    )
  }
  const { of, violated } = await judged({ ...page, for_ms: 2_000 }, drive)
  expect(violated).toEqual([])
  expect(of('holds', true).map(nameOf)).toContain('slot-hidden')
})

test('a correct page violates no rule, about the page or its requests; the ad was brought into view', async () => {
  const sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  const drive: WatchOptions['drive'] = async (page, signal) => {
    await steps('- wait_for: { type: beacon, event: visible }', 30_000)(page, signal)
    // Then its beacons are due.
    await createClient({ base_url: sandbox.url }).clock.advance({ body: { by_ms: 6_000 } })
  }
  const { cases, of, violated } = await judged(cleanPage, drive, sandbox).finally(() => sandbox.close())
  expect(violated).toEqual([])
  expect([...of('error', false), ...of('warning', false)].map(nameOf)).toEqual([])
  // Its window is wider than a phone, and it got render.js.
  const rules = Object.keys(allPageRules).filter((rule) => rule !== 'ad-density' && rule !== 'stub-missing')
  expect(of('holds', true).map(nameOf)).toEqual(rules)
  const missing = cases.find((item) => nameOf(item) === 'beacon-missing')
  expect(JSON.stringify(missing?.steps)).toContain('1 of 1 rendered ads were reported as visible.')
  // The ad with what its console says, around it: wider and higher than the ad.
  const pictures = cases.find((item) => nameOf(item) === 'slot-blank')?.steps[0]?.screenshots ?? []
  expect(pictures).toEqual([expect.objectContaining({ name: expect.stringMatching(/^slot_\w{11}$/) })])
  expect(pictures[0]!.width).toBeGreaterThan(300)
})

// They spend their time waiting, and each judges its own page.
describe.concurrent('each rule about pages is violated by its page', () => {
  test.each(Object.entries(wrongPages))('%s', async (name, page) => {
    const { cases, violated } = await judged(page)
    expect(violated.sort()).toEqual([name, ...(page.also ?? [])].sort())
    const { severity } = allPageRules[name as keyof typeof allPageRules]
    const found = cases.find((item) => nameOf(item) === name)
    // That no ad came, because of the route of the page itself, is an error.
    expect(found?.outcome).toBe(severity === 'error' || name === 'page-errors' ? 'failed' : 'passed')
    expect(found?.steps[0]?.screenshots[0]?.name).toBe('the page at the end')
  })
})

describe.concurrent('a list that draws its messages again', () => {
  const turnIds = Object.keys(turnRules)

  test.each(Object.entries(naiveLists))('%s', async (_, { page, rules }) => {
    const sandbox = await startSandbox({ database: ':memory:', seed: 1 })
    const { cases } = await judged(page, undefined, sandbox).finally(() => sandbox.close())
    const found = cases.filter((item) => turnIds.includes(nameOf(item)) && ['error', 'warning'].includes(item.tags[0]!))
    expect(found.map(nameOf).sort()).toEqual([...rules].sort())
    for (const { steps } of found) expect(steps[0]?.exchanges.length).toBeGreaterThan(0)
  })
})

const findFinding = (cases: CaseResult[], rule: string) =>
  // Without screenshots, which are all that one would see of a failure.
  JSON.stringify(cases.find((item) => nameOf(item) === rule)?.steps.map(({ screenshots, ...step }) => step)).replace(
    /slot_\w+/g,
    'SLOT',
  )

describe.concurrent('the cause is named', () => {
  test.each(Object.entries(hiddenPages))('%s It is not called blank.', async (message, page) => {
    const { cases, violated } = await judged(page)
    expect(violated).toEqual(['slot-hidden'])
    expect(findFinding(cases, 'slot-hidden')).toContain(message)
  })

  test.each(Object.entries(lossyPages))('%s', async (message, page) => {
    const { cases, violated } = await judged(page)
    expect(violated).toContain('page-errors')
    expect(findFinding(cases, 'page-errors')).toContain(message)
    // One fault has one finding; that a header is refused is on the console, and its beacons are lost.
    const found = cases.find((item) => nameOf(item) === 'page-errors')!.steps.map(({ title }) => title)
    expect(found.filter((title) => !title.includes('CORS policy')).length, found.join('\n')).toBeLessThanOrEqual(1)
  })

  test('a frame_url that was changed, once, and nothing that follows from it', async () => {
    const { cases, violated } = await judged(changedPage)
    expect(violated).toEqual(['frame-blocked'])
    expect(findFinding(cases, 'frame-blocked')).toContain('/ads/render/')
    expect(findFinding(cases, 'frame-blocked')).toContain(`, and never from the service, ${shared.url}/v1/render/`)
  })

  test('the directive of a policy and the missing origin, once; a policy that only reports blocks nothing', async () => {
    const { cases } = await judged(wrongPages['frame-blocked'])
    expect(findFinding(cases, 'frame-blocked')).toContain(
      `Add ${shared.url} to frame-src of the Content-Security-Policy of the page.`,
    )
    expect(findFinding(cases, 'page-errors')).not.toContain('On the console')
    const reported = await judged({ ...wrongPages['frame-blocked'], is_report_only: true, until: isInView })
    expect(reported.of('error', true)).toEqual([])
    expect(findFinding(reported.cases, 'frame-blocked')).toContain('will be blocked once that policy is enforced')
  })

  test('the id that several slots have: all but one stay empty', async () => {
    const { cases, violated } = await judged(twinPage)
    expect(violated).toEqual(['slot-blank'])
    expect(findFinding(cases, 'slot-blank')).toMatch(/Several slots have the id slot: one shows the ad.*its own id/)
  })

  test('the route of the page that refused, and the page of a code', async () => {
    const { cases } = await judged(mistypedPage)
    expect(findFinding(cases, 'page-errors')).toMatch(
      /reported the error request_failed: POST \/mistyped responded with 404.*correct the endpoint/,
    )
    const { cases: reshaped } = await judged(wrongPages['page-errors'])
    expect(findFinding(reshaped, 'page-errors')).toContain('Look it up: svc docs response_unreadable')
  })
})

describe.concurrent('steps', () => {
  test('use a page that waits for consent and a question', async () => {
    const { of } = await judged(askingPage, steps(askingSteps, 30_000))
    expect(of('holds', true).map(nameOf)).toContain('label-hidden')
  })

  test.each([
    ['- click: text=Agree', 'ask.yaml:1:3: Nothing on the page matches text=Agree.'],
    [
      "- run: 'while (!document.querySelector(`button`)) await new Promise(requestAnimationFrame)'\n- press: Tab\n  fill: { field: '#reply', text: x }",
      'ask.yaml:3:3: Nothing on the page',
    ],
    ["- run: throw new Error('mine')", 'ask.yaml:1:3: run failed: mine'],
    ['- wait_for: rendered', 'ask.yaml:1:3: render.js did not emit rendered within 1 s.'],
  ])('that fail are named with their place: %s', async (text, message) => {
    const { cases, of } = await judged({ ...askingPage, for_ms: 500 }, steps(text, 1_000))
    expect(of('error', true).map(nameOf)).toEqual(['step-failed'])
    expect(findFinding(cases, 'step-failed')).toContain(message)
    expect(of('holds', true).map(nameOf)).toContain('secret-key-served')
  })

  test('that wait for an ad that is blocked follow from its cause, which is one finding', async () => {
    const wait = steps('- wait_for: rendered', 1_000)
    const { cases, of } = await judged(wrongPages['frame-blocked'], wait)
    expect(of('error', true).map(nameOf)).toEqual(['frame-blocked'])
    const followed = ['step-failed', 'fill-unused', 'beacon-missing']
    const reasons = cases.filter((item) => followed.includes(nameOf(item))).map(({ reason }) => reason)
    expect(reasons).toContain('follows from frame-blocked')
    expect(cases.find((item) => nameOf(item) === 'step-failed')?.reason).toBe('follows from frame-blocked')
  })

  test('that wait for an ad that render.js did not show name its reason', async () => {
    const { cases, violated } = await judged(wrongPages['page-errors'], steps('- wait_for: rendered', 1_000))
    expect(violated).toEqual(['step-failed'])
    expect(findFinding(cases, 'step-failed')).toMatch(
      /did not emit rendered within 1 s.*render\.js reported the error response_unreadable/,
    )
  })

  test('that are misspelt are refused before anything is started', () => {
    expect(() => steps('- clik: text=Accept\n- fill: Hello')).toThrow(
      /^ask\.yaml:1:3: Unknown field clik\. Did you mean click\?\nask\.yaml:2:9: /,
    )
    expect(() => steps('click: text=Accept')).toThrow('ask.yaml:1:1: This is not a list of steps.')
  })
})

test('a page whose scripts never yield is said to be busy, when its time is over, and sooner at the first interrupt', async () => {
  let opened = 0
  const server = createServer((_, response) => {
    opened++
    response.setHeader('content-type', 'text/html').end('<script>for (;;);</script>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const options = { url, browser_name: 'Chromium', bases: [shared.url], is_headed: false }
  const ended: string[] = []
  const watch = async (name: string, ending: { for_ms: number | null; signal: AbortSignal }) => {
    // A browser of its own: others that share one must not wait for a page that is busy.
    const browser = await launchChromium()
    try {
      await expect(watchPage(browser, { ...options, ...ending })).rejects.toThrow(
        `${url} opened, and could not be looked at`,
      )
      ended.push(name)
    } finally {
      await browser.close()
    }
  }
  try {
    const signal = AbortSignal.any([])
    const interrupt = new AbortController()
    const over = watch('over', { for_ms: 300, signal })
    const interrupted = watch('interrupted', { for_ms: null, signal: interrupt.signal })
    await expect.poll(() => opened).toBe(2)
    interrupt.abort()
    await Promise.all([over, interrupted])
    expect(ended).toEqual(['interrupted', 'over'])
  } finally {
    server.close()
  }
})

describe.concurrent('the command', () => {
  const observe = async (page: Page, args: string, cwd = home) => {
    await using app = await startApp(shared.url, page)
    const browser_path = await chromium.executablePath()
    return await svc(`observe --url ${app.url} --browser-path ${browser_path} ${args}`, {
      env: { SVC_HOME: home },
      cwd,
      system: { now: () => Date.now() },
    })
  }

  test('says what to do when the page waits for you', async () => {
    await using cli = await startTestCli()
    await using app = await startApp(cli.sandbox.url, askingPage)
    const browser = `--browser-path ${await chromium.executablePath()}`
    const { code, stderr } = await cli.svc(`observe --url ${app.url} ${browser} --for 500ms --reporter markdown`)
    expect(code).toBe(5)
    expect(stderr).toMatch(
      /error: Nothing was judged: .*\nhint: The page requested no ad\. Does it wait for consent or a question\? .*--steps FILE.*--interactive\n$/,
    )
  })

  test('fails where the app asks for no ad, and names what it sent', async () => {
    await using cli = await startTestCli()
    const body = `<button onclick="fetch('/config')">Open</button>`
    await using app = await startApp(cli.sandbox.url, { body })
    const file = join(home, 'open.yaml')
    writeFileSync(file, '- click: text=Open\n')
    const browser = `--browser-path ${await chromium.executablePath()}`
    const { code, stderr } = await cli.svc(
      `observe --url ${app.url} ${browser} --for 1s --steps ${file} --reporter markdown`,
    )
    expect(code).toBe(5)
    expect(stderr).toContain('Nothing of an ad was judged: the page requested none.')
    expect(stderr).toContain('The page requested no ad, though GET /v1/projects/proj_demo/config of the app arrived.')
  })

  test('says that an answer ended before its ad was requested', async () => {
    await using cli = await startTestCli()
    const body = `<div id="slot"></div><script type="module">
      SponsoredPlacement.withTurn({ target: '#slot', endpoint: '/placement' }, async () => 'An answer at once.')
    </script>`
    await using app = await startApp(cli.sandbox.url, { body })
    const browser = `--browser-path ${await chromium.executablePath()}`
    const { stderr } = await cli.svc(`observe --url ${app.url} ${browser} --for 2s --reporter markdown`)
    expect(stderr).toContain(`hint: The page requested no ad. ${describeEnding('finished_early')}`)
  })

  test('does not ask whether it waits when render.js reported why no ad was requested', async () => {
    await using cli = await startTestCli()
    await using app = await startApp(cli.sandbox.url, mistypedPage)
    const browser = `--browser-path ${await chromium.executablePath()}`
    const { stderr } = await cli.svc(`observe --url ${app.url} ${browser} --for 2s --reporter markdown`)
    expect(stderr).not.toContain('requested no ad')
  })

  test('uses it by a file of steps', async () => {
    const file = join(home, 'ask.yaml')
    writeFileSync(file, askingSteps)
    const { stdout, stderr } = await observe(askingPage, `--steps ${file} --for 1s`)
    expect(stderr).toMatch(
      /^watching http:\S+, driving it with \S+ask\.yaml for 1 s; press Ctrl-C to judge it now\n(it took .*\n)?$/,
    )
    expect(stdout).toMatch(/✓ \d+ rules hold: .*label-hidden/)
  })

  test('fails with the step that could not be done', async () => {
    const file = join(home, 'wrong.yaml')
    writeFileSync(file, "- run: throw new Error('mine')\n")
    const { code, stdout } = await observe(askingPage, `-q --steps ${file} --for 500ms --reporter list`)
    expect({ code, stdout }).toEqual({ code: 5, stdout: expect.stringContaining('wrong.yaml:1:3: run failed: mine') })
    expect(stdout).toMatch(/✓ \d+ rules? holds?: .*secret-key-served/)
  })

  test('a secret key that the page got is found in the sources, for code scanning', async () => {
    const project = temporaryDirectory()
    mkdirSync(join(project, 'src'))
    writeFileSync(join(project, 'src', 'page.html'), `<p>\n  <script>const key = 'sk_test_sandbox_demo'</script>\n`)
    const { code, stdout } = await observe(
      wrongPages['secret-key-served'],
      '-q --for 1s --reporter list --reporter sarif=o.sarif',
      project,
    )
    expect(code).toBe(5)
    expect(stdout).toContain('It stands in src/page.html:2.')
    const text = readFileSync(join(project, 'o.sarif'), 'utf8')
    expect(text).not.toContain('sk_test_sandbox_demo')
    const [{ results }] = JSON.parse(text).runs
    expect(results).toMatchObject([
      {
        ruleId: 'observe/secret-key-served',
        level: 'error',
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: 'src/page.html', uriBaseId: '%SRCROOT%' },
              region: { startLine: 2, startColumn: 24 },
            },
          },
        ],
      },
    ])
  })

  test('the html report has the finding and a screenshot of the page', async () => {
    const file = join(home, 'finding.html')
    const { code } = await observe(wrongPages['label-hidden'], `-q --for 3s --reporter list --reporter html=${file}`)
    expect(code).toBe(5)
    const html = readFileSync(file, 'utf8')
    expect(html).toContain('every ad has a visible label')
    expect(html).toContain('alt="Screenshot the page at the end"')
  })
})
