/** The steps of `svc qa` that need a browser, as a suite uses them: each action, each way in which one fails. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { PNG } from 'pngjs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { root, spawnSvc } from '#tests/cli/process.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

const home = temporaryDirectory()
let sandbox: Sandbox
let browser_path: string
let env: Record<string, string>
let files = 0

beforeAll(async () => {
  sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  browser_path = await chromium.executablePath()
  env = {
    SVC_HOME: home,
    SVC_BASE_URL: sandbox.url,
    SVC_CLIENT_ID: sandbox.keys.client_id,
    SVC_SECRET_KEY: sandbox.keys.secret_key,
    SVC_PUBLISHABLE_KEY: sandbox.keys.publishable_key,
  }
})
afterAll(() => sandbox?.close())

/** Gives the steps that open a page, or go on with one, all the time that a busy host needs; others have a timeout of their own. */
const patient = (steps: string): string => steps.replace(/^- (browser|page): .*$/gm, '$&\n  timeout: 50s')

/** A suite file in a folder of its own: cases by name, each with these steps. */
function suite(cases: Readonly<Record<string, string>>): { file: string; folder: string } {
  const folder = join(home, `suite${++files}`)
  mkdirSync(folder, { recursive: true })
  const text = Object.entries(cases).map(
    ([name, steps]) => `  - name: ${name}\n    steps:\n${patient(steps).replace(/^/gm, '      ')}\n`,
  )
  writeFileSync(join(folder, 'shop.yaml'), `suite: shop\ntitle: A shop\ncases:\n${text.join('')}`)
  return { file: join(folder, 'shop.yaml'), folder }
}

async function runFile(file: string, more = '', path = browser_path) {
  const { code, stdout, stderr } = await svc(`qa run ${file} -o json --browser-path ${path} --workers 6 ${more}`, {
    env,
  })
  expect(stderr).toBe('')
  const { cases } = JSON.parse(stdout) as RunResult
  return { code, byName: Object.fromEntries(cases.map((each) => [each.name, each])) }
}

const banner = '- placement: { format: banner }\n'
const shown = `${banner}- browser: {}\n`
const empty = '- browser: { of: null }\n'
/** An ad whose render beacon was accepted. */
const counted = `${shown}  do: { wait_for: { type: beacon, event: render } }\n`
/** Blocks the main thread of a page until the page is closed, without a processor: its response never comes. */
const hang = "const wait = new XMLHttpRequest(); wait.open('GET', '/never', false); wait.send()"
const never = 'serve: { /never: { body: 1, after: 30s } }'

/** Returns the problems of a case, one line each. */
function problemsIn({ steps, reason }: CaseResult): string[] {
  return [
    ...(reason === null ? [] : [reason]),
    ...steps.flatMap((step) => [
      ...(step.outcome === 'failed' && step.reason !== null ? [step.reason] : []),
      ...step.checks
        .filter(({ passed }) => !passed)
        .map(({ subject, actual }) => `${subject}: ${JSON.stringify(actual)}`),
    ]),
  ]
}

/** Each action once, with the state of the page after it. */
const good = {
  mount: `${banner}  as: p\n${empty}  do: { mount: p }\n  expect: { body: { slot.frames: 1 } }`,
  'mount changed': `${banner}${empty}  do: [{ mount: { set: { placement.render.media_type: video } } }, { wait_for: { type: error, code: media_type_mismatch } }]`,
  'wait for and none of': `${shown}  do: [{ wait_for: { type: beacon, event: render, accepted: true } }, { none_of: [error, { type: beacon, event: click }] }]\n  expect: { body: { counted: { $contains: render } } }`,
  'scroll and hidden': `${shown}  do: [{ wait_for: rendered }, { scroll: away }, { scroll: 0.25 }, { hidden: true }, { run: "if (!document.hidden || document.visibilityState !== 'hidden') throw 'shown'" }, { scroll: slot }, { hidden: false }, { wait_for: visible }]`,
  'scroll by a share': `- placement: { format: banner, max_width: 336, max_height: 280 }\n- browser: { above: 1500 }\n  do: [{ wait_for: rendered }, { scroll: 0.25 }, { run: "const { top, height } = frame.getBoundingClientRect(); const share = (innerHeight - top) / height; if (Math.abs(share - 0.25) > 0.02) throw share" }]`,
  click: `${banner}  as: p\n- browser: {}\n  do: [{ wait_for: rendered }, { click: ad }, { wait_for: click }]\n  expect: { body: { landings: ["{{p.body.placement.click_url}}"] } }`,
  'click play and mute': `- placement: { format: clip }\n- browser: { reduced_motion: true }\n  do: [{ wait_for: { type: error, code: autoplay_blocked } }, { click: mute }, { click: play }, { wait_for: play_started }]`,
  clear: `${shown}  do: [{ wait_for: rendered }, { clear: true }]\n  expect: { body: { slot.is_empty: true, cleared: [cleared] } }`,
  'remove label': `${shown}  do: [{ wait_for: rendered }, { run: "window.removed = 0; new MutationObserver(() => { window.removed++ }).observe(frame.getRootNode(), { childList: true })" }, { remove_label: true }, { wait: 50ms }, { run: "if (window.removed === 0) throw 'not removed'" }]\n  expect: { body: { labels: 1 } }`,
  'turn, finish': `- browser: { turn: {}, endpoint: /api, serve: { /api: { status: 500, body: { reason_code: internal_error } } } }\n  do: [{ wait_for: { type: error, code: request_failed, status: 500 } }, { finish: true }]\n  expect: { body: { served: [POST /api], events: { $contains: 'turn:finished' } } }`,
  'serve in turn': `- browser: { of: null, serve: { /n: [{ body: 1 }, { body: 2, after: 20ms }] } }\n  do: { run: "const seen = []; for (let n = 0; n < 3; n++) seen.push(await (await fetch('/n')).json()); if (String(seen) !== '1,2,2') throw seen" }\n  expect: { body: { served: [GET /n, GET /n, GET /n] } }`,
  screenshot: `${shown}  do: [{ wait_for: rendered }, { screenshot: { name: ad, of: ad, width: 300, height: 250, colors: { $gt: 4 }, brightness: { $gt: 0.05 } } }, { screenshot: page }]`,
  'a page goes on': `${shown}- page: { wait_for: rendered }\n- page: { clear: true }\n  expect: { body: { slot.frames: 0, events: { $contains: cleared } } }`,
  'a second browser step is a new page': `${shown}  do: { wait_for: rendered }\n${empty}  expect: { body: { events: [], slot.is_empty: true } }`,
  policy: `${banner}- browser: { policy: "script-src 'none'", of: null }\n  expect: { body: { console_errors: { $length: { $gte: 1 } }, events: [] } }`,
  network: `${empty}  do: { run: "await fetch('http://example.com/').then(() => { throw 'reached' }, () => {})" }`,
}

/** Steps that fail, and the problem that is reported. */
const bad: Readonly<Record<string, readonly [steps: string, wrong: RegExp]>> = {
  'an event that does not come': [
    `${counted}- timeout: 10s\n  page: [{ wait_for: rendered }, { wait_for: play_started }, { click: ad }]`,
    /^event play_started: \["rendered","beacon render accepted"/,
  ],
  'an event with another field': [
    `${counted}- timeout: 10s\n  page: { wait_for: { type: beacon, event: render, accepted: false } }`,
    /^event beacon: \["rendered","beacon render accepted"/,
  ],
  'an event that came': [
    `${shown}  do: [{ wait_for: { type: beacon, event: render } }, { none_of: [error, { type: beacon, event: render }] }]`,
    /^no event beacon render: \["rendered","beacon render accepted"/,
  ],
  'an ad that is not there': [`${empty}  do: { click: ad }`, /^click ad: "no ad"$/],
  'an ad that is covered': [
    `${shown}  do: [{ wait_for: rendered }, { run: "document.body.append(Object.assign(document.createElement('div'), { style: 'position:fixed;inset:0' }))" }, { click: ad }]`,
    /^click ad: "cannot be clicked: .*intercepts pointer events"$/,
  ],
  'a screenshot of nothing': [`${empty}  do: { screenshot: { name: a, of: ad } }`, /^pixels a: "nothing"$/],
  'a screenshot with other figures': [
    `${shown}  do: [{ wait_for: rendered }, { screenshot: { name: a, colors: 1 } }]`,
    /^pixels a\.colors: \d+$/,
  ],
  'a screenshot that is not stored': [
    `${shown}  do: [{ wait_for: rendered }, { screenshot: { name: a, matches: a.png } }]`,
    /^pixels a like a\.png: "none"$/,
  ],
  'a page that was never opened': ['- page: { wait: 1ms }', /^No page is open: an earlier step must be browser\.$/],
  'code that throws': [
    `${empty}  do: { run: "throw new RangeError('mine')" }`,
    /^The code of run threw RangeError: mine/,
  ],
  'a page that hangs': [
    `- browser: { of: null, ${never} }\n- timeout: 2s\n  page: { run: "${hang}" }`,
    /^The action run did not finish: the page hangs/,
  ],
  'a page that hangs while it is waited for': [
    `${banner}- browser: { ${never} }\n- timeout: 3s\n  page: [{ run: "setTimeout(() => { ${hang} }, 50)" }, { wait: 100ms }, { wait_for: play_started }]`,
    /^The action wait_for did not finish: the page hangs/,
  ],
  'an event that does not come on a page that hangs after it': [
    `- browser: { of: null, ${never} }\n- timeout: 3s\n  page: [{ run: "let reads = 0; SponsoredPlacement.getEvents = () => { if (++reads > 2) { ${hang} } return [] }" }, { wait_for: visible }]`,
    /^event visible: \[\]$/,
  ],
  'a page without the renderer': [
    `${banner}- browser: { policy: "script-src 'none'" }`,
    /^The page has no SponsoredPlacement: render\.js did not load\.$/,
  ],
}

describe('actions', () => {
  let byName: Record<string, CaseResult>
  let code: number
  beforeAll(async () => {
    const failing = Object.fromEntries(Object.entries(bad).map(([name, [steps]]) => [name, steps]))
    ;({ byName, code } = await runFile(suite({ ...good, ...failing }).file))
  })

  test.each(Object.keys(good))('%s', (name) => {
    expect(problemsIn(byName[name]!)).toEqual([])
    expect(byName[name]!.outcome).toBe('passed')
  })

  test.each(Object.entries(bad))('%s is reported, and nothing else', (name, [, wrong]) => {
    const problems = problemsIn(byName[name]!)
    expect(problems).toEqual([expect.stringMatching(wrong)])
    expect(code).toBe(5)
  })

  test('an action that fails is reported by its own line, with a screenshot of the page, and ends the step', () => {
    const { steps } = byName['an event that does not come']!
    const { checks, screenshots, place } = steps.at(-1)!
    const ofActions = checks.filter(({ subject }) => subject !== 'status')
    expect(ofActions.map(({ subject, passed }) => `${subject} ${passed}`)).toEqual([
      'event rendered true',
      'event play_started false',
    ])
    expect(checks[1]!.place).toMatchObject({ line: place.line + 1 })
    expect(screenshots.map(({ name }) => name)).toEqual(['the page when it failed'])
  })
})

describe('stored screenshots', () => {
  test('are stored with --update-snapshots, compared after that, and reported when they differ', async () => {
    const screenshot = '{ screenshot: { name: ad, of: ad, matches: shots/ad.png } }'
    const { file, folder } = suite({ one: `${shown}  do: [{ wait_for: rendered }, ${screenshot}]` })
    const picture = join(folder, 'shots/ad.png')
    expect((await runFile(file, '--update-snapshots')).code).toBe(0)
    expect((await runFile(file)).code).toBe(0)

    const png = PNG.sync.read(readFileSync(picture))
    png.data.fill(0x80, 0, png.data.length / 2)
    writeFileSync(picture, PNG.sync.write(png))
    const differs = await runFile(file)
    expect(differs.code).toBe(5)
    expect(problemsIn(differs.byName.one!)).toEqual([expect.stringMatching(/^pixels ad like shots\/ad\.png: 0\.\d+$/)])
    const { screenshots } = differs.byName.one!.steps.at(-1)!
    expect(screenshots.map(({ name }) => name)).toEqual(['ad', 'ad, difference', 'the page when it failed'])

    writeFileSync(picture, PNG.sync.write(new PNG({ width: 10, height: 20 })))
    expect(problemsIn((await runFile(file)).byName.one!)).toEqual([
      'pixels ad like shots/ad.png: "300x250 instead of 10x20"',
    ])
    expect((await runFile(file, '--update-snapshots')).code).toBe(0)
    expect((await runFile(file)).code).toBe(0)
  })
})

test('--browser finds the Chromium of the checkout, with nothing named', async () => {
  const { file } = suite({ one: empty })
  const { code, stdout, stderr } = await svc(`qa run ${file} --browser -o json`, { env })
  expect([code, stderr]).toEqual([0, ''])
  expect((JSON.parse(stdout) as RunResult).cases).toMatchObject([{ outcome: 'passed' }])
})

describe('a missing browser', () => {
  const { file } = suite({ one: empty, two: empty })
  const refused = async (path: string) => {
    const { code, stdout, stderr } = await svc(`qa run ${file} --browser-path ${path}`, { env })
    expect(stdout).toBe('')
    expect(code).toBe(7)
    return stderr
  }

  test('a path to nothing', async () => {
    expect(await refused('/nowhere/chrome')).toMatch(
      /No browser found at \/nowhere\/chrome\.\nhint: Install one \(npx playwright install chromium\), or name it/,
    )
  })

  test('a program that is no browser, and a file that is no program', async () => {
    const script = join(home, 'no-browser.sh')
    writeFileSync(script, '#!/bin/sh\nexit 3\n', { mode: 0o755 })
    expect(await refused(script)).toMatch(
      /no-browser\.sh does not start: .+\.\nhint: Name a Chrome or Chromium that does/,
    )
    const text = join(home, 'text')
    writeFileSync(text, 'text')
    expect(await refused(text)).toMatch(/text does not start: .*EACCES/)
  })

  test('without the package that drives it', async () => {
    const hook = join(home, 'hook.mjs')
    writeFileSync(
      hook,
      `import { registerHooks } from 'node:module'
registerHooks({ resolve: (name, context, next) => {
  if (name === 'playwright-core') throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(name, context)
} })`,
    )
    const more = { ...env, NODE_OPTIONS: `--import ${hook}` }
    const { code, stdout, stderr } = await spawnSvc(['qa', 'run', file, '--browser-path', browser_path], more, root)
      .ended
    expect([code, stdout]).toEqual([7, ''])
    expect(stderr).toMatch(
      /playwright-core, which drives the browser, is not installed\.\nhint: .*npm install -D playwright-core/,
    )
  })

  test('without --browser such cases are not applicable, with the reason', async () => {
    const { code, stdout } = await svc(`qa run ${file} -o json`, { env })
    const { cases } = JSON.parse(stdout) as RunResult
    expect(cases.map(({ outcome, reason }) => `${outcome}: ${reason}`)).toEqual([
      'not_applicable: Line 6 (browser) needs a browser: add --browser.',
      'not_applicable: Line 11 (browser) needs a browser: add --browser.',
    ])
    expect(code).toBe(5)
  })
})

test.each([
  ['is killed', 'SIGKILL', /^The (browser exited|page crashed)/],
  ['hangs', 'SIGSTOP', /^The action run did not finish: the page hangs/],
] as const)('a browser that %s fails the step under way; the next case has a new one', async (_, signal, wrong) => {
  const pids = join(home, signal)
  const script = join(home, `${signal}.sh`)
  writeFileSync(script, `#!/bin/sh\necho $$ >> ${pids}\nexec ${browser_path} "$@"\n`, { mode: 0o755 })
  const visited = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    response.end()
    visited.resolve()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { file } = suite({
    first: `- browser: { of: null }\n- timeout: 4s\n  page: { run: "await fetch('http://127.0.0.1:${port}', { mode: 'no-cors' }); await new Promise(() => {})" }`,
    second: `${shown}  do: { wait_for: rendered }`,
  })
  const running = runFile(file, '--workers 1', script)
  // The page is open, and waits forever.
  await visited.promise
  server.close()
  const [pid] = readFileSync(pids, 'utf8').split('\n').map(Number)
  process.kill(pid!, signal)
  const { code, byName } = await running
  expect(code).toBe(5)
  expect(problemsIn(byName.first!)).toEqual([expect.stringMatching(wrong)])
  expect(byName.second!.outcome).toBe('passed')
  expect(readFileSync(pids, 'utf8').trim().split('\n')).toHaveLength(2)
})
