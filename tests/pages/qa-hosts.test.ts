/** `svc qa hosts`: a page that is right, and pages that lack one thing each, whose line is named. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { withMatrix } from '#build/docs/hosts-matrix.ts'
import { createClient } from '#client/index.ts'
import { openBlocker } from '#hosts/blocker.ts'
import { builtinList } from '#hosts/filter-list.ts'
import { conditions, tryHosts } from '#hosts/matrix.ts'
import { openOwnPage } from '#hosts/own-page.ts'
import { loadPageSteps } from '#qa/browser/page-steps.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { startApp } from '#tests/observe/app.ts'
import type { Page } from '#tests/observe/pages.ts'

vi.setConfig({ maxConcurrency: 5 })

let sandbox: Sandbox
let service: string

beforeAll(async () => {
  sandbox = await startSandbox({ database: ':memory:', seed: 1 })
  service = sandbox.url
})
afterAll(() => sandbox?.close())

interface Trial {
  allowed_origins?: readonly string[]
  steps?: string
  for_ms?: number
}

async function tried(url: string, names: readonly string[], { allowed_origins, steps, for_ms = 15_000 }: Trial = {}) {
  const project = sandbox.projects[0]!
  return tryHosts(names, {
    url,
    service,
    bases: [service, service.replace('127.0.0.1', 'localhost')],
    client: createClient({ base_url: service, credential: project.secret_key }),
    client_id: 'proj_demo',
    allowed_origins: allowed_origins ?? ['http://localhost:*', 'http://127.0.0.1:*'],
    blocker: openBlocker(builtinList),
    for_ms,
    signal: new AbortController().signal,
    extension: null,
    browser: sharedChromium,
    drive: steps === undefined ? undefined : loadPageSteps(steps, 'steps.yaml'),
  })
}

/** Tries a page of an app under one condition. */
async function triedApp(page: Page, name: string, trial?: Trial) {
  await using app = await startApp(service, page)
  const [row] = await tried(app.url, [name], trial)
  return { ...row!, origin: app.url }
}

test('the page that does what the documentation says shows and counts everywhere but where no page can', async () => {
  const client = createClient({ base_url: service, credential: sandbox.projects[0]!.secret_key })
  const page = await openOwnPage(service, client, 'proj_demo', 'good')
  const rows = await tried(
    page.url,
    conditions.map(({ name }) => name),
  ).finally(() => page.close())
  expect(rows.map(({ condition }) => condition)).toEqual(conditions.map(({ name }) => name))
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/hosts.md'), 'utf8')
  expect(withMatrix(guide, rows), 'write it again: node build/docs/hosts.ts').toBe(guide)
  const lost = rows.filter(({ shows, counts }) => !shows || !counts)
  expect(lost.map(({ condition, missing }) => `${condition}: ${missing}`)).toEqual([
    'sandboxed-frame: sandbox="allow-scripts allow-same-origin" on the frame around the page',
    'tall-webview: SponsoredPlacement.setViewport({ top, left, width, height }), called by the app as its user scrolls',
    `app-scheme: svc sandbox projects update proj_demo --set 'allowed_origins=["http://localhost:*","http://127.0.0.1:*","capacitor://localhost"]'`,
  ])
})

const slot = '<div id="slot" style="min-height:330px"></div>'
const start = `SponsoredPlacement.startTurn({ target: '#slot', endpoint: '/placement', turnId: 'one' })`
const turn = `${slot}<script>${start}</script>`

interface Lacking {
  condition: string
  page: Page
  shows?: boolean
  trial?: Trial
  /** What is printed, with the addresses of the service and the page put in. */
  missing: (service: string, page: string) => string | RegExp
  why: RegExp
}

const lacking: Record<string, Lacking> = {
  'frame-src': {
    condition: 'plain',
    page: { body: turn, policy: (url) => `script-src 'unsafe-inline' ${url}; frame-src 'self'` },
    missing: (url) => `Content-Security-Policy: frame-src ${url}`,
    why: /Content-Security-Policy of the page blocks http/,
  },
  'connect-src': {
    condition: 'plain',
    page: { body: turn, policy: () => `connect-src 'self'` },
    shows: true,
    trial: { for_ms: 4_000 },
    missing: (url) => `Content-Security-Policy: connect-src ${url}`,
    why: /blocks http:\/\/127.0.0.1:\d+\/v1\/beacons/,
  },
  'Trusted Types': {
    condition: 'strict-csp',
    page: {
      body: `<div id="root"></div><script>document.querySelector('#root').innerHTML = '${slot}'\n${start}</script>`,
    },
    trial: { for_ms: 3_000 },
    missing: (_, page) => new RegExp(`^textContent or createElement in place of Element innerHTML at ${page}/:\\d+`),
    why: /Trusted Types refuse a string for Element innerHTML/,
  },
  'an inline handler': {
    condition: 'strict-csp',
    page: {
      body: `${slot}<button onclick="${start}">Ask</button><script>document.querySelector('button').click()</script>`,
    },
    trial: { for_ms: 3_000 },
    missing: () => 'addEventListener in place of the on… attribute',
    why: /inline event handler is refused at/,
  },
  'a path that no filter names': {
    condition: 'ad-blocker',
    page: { body: turn.replace('/placement', '/ads/placement') },
    missing: () => 'another path in place of /ads/placement: one without the words that the filter names',
    why: /The filter \/ads\/\* blocks POST http/,
  },
  'an id that no filter hides': {
    condition: 'ad-blocker',
    page: { body: turn.replace('id="slot"', 'id="ad-slot"').replace('#slot', '#ad-slot') },
    trial: { for_ms: 3_000 },
    missing: () => 'another id or class in place of #ad-slot: one that does not name an ad',
    why: /The filter ###ad-slot hides the slot/,
    // A blocker may hide the slot a moment after the ad has been shown.
    shows: expect.any(Boolean),
  },
  'storage that may be missing': {
    condition: 'webview',
    page: { body: `${slot}<script>const id = localStorage.getItem('session')\n${start}</script>` },
    trial: { for_ms: 3_000 },
    missing: (_, page) => new RegExp(`^a fix of .*null.*\\(${page}/:\\d+\\)`),
    why: /throws before it asks for an ad/,
  },
  'room at 320 pixels': {
    condition: 'narrow',
    page: {
      body: `<div style="width:300px;overflow:clip"><div style="margin-left:260px;width:300px">${turn}</div></div>`,
    },
    trial: { for_ms: 5_000 },
    shows: true,
    missing: () => /^room for 300 × 250 pixels around the slot/,
    why: /of the ad came into view: it is cut off by div of 300/,
  },
  'the route of its backend': {
    condition: 'plain',
    page: { body: turn.replace('/placement', '/mistyped') },
    missing: () => 'a route POST /mistyped that returns the response of POST /v1/placements unchanged',
    why: /request_failed: POST \/mistyped responded with 404/,
  },
  'any call of render.js': {
    condition: 'plain',
    page: { body: slot },
    trial: { for_ms: 1_500 },
    missing: () => /^SponsoredPlacement\.withTurn\(.* or --steps FILE/,
    why: /Nothing was seen: no placement, no event, no frame. Looked at: \d+ requests of/,
  },
}

test('the origin around its frame', async () => {
  const project = sandbox.projects[0]!
  const client = createClient({ base_url: service, credential: project.secret_key })
  await using app = await startApp(service, { body: turn })
  const set = (allowed_origins: string[]) =>
    client.projects.update({ params: { client_id: 'proj_demo' }, body: { allowed_origins } })
  const { settings } = await client.projects.show({ params: { client_id: 'proj_demo' } })
  await set([app.url])
  const trial = { allowed_origins: [app.url], for_ms: 4_000 }
  const [row] = await tried(app.url, ['nested-frame'], trial).finally(() => set(settings.allowed_origins))
  expect(row).toMatchObject({ shows: false, counts: false })
  expect(row!.why_not).toMatch(/^http:\/\/localhost:\d+ is not an allowed origin of the project/)
  const around = / http:\/\/\S+ is/.exec(` ${row!.why_not}`)![0].trim().split(' ')[0]
  expect(row!.missing).toBe(
    `svc sandbox projects update proj_demo --set 'allowed_origins=${JSON.stringify([app.url, around])}'`,
  )
})

describe.concurrent('a page that lacks one thing is told its line', () => {
  test.each(Object.entries(lacking))('%s', async (_name, { page, condition, trial, ...expected }) => {
    const { origin, ...row } = await triedApp(page, condition, trial)
    expect(row.why_not).toMatch(expected.why)
    const missing = expected.missing(service, origin)
    if (typeof missing === 'string') expect(row.missing).toBe(missing)
    else expect(row.missing).toMatch(missing)
    expect([row.shows, row.counts]).toEqual([expected.shows ?? false, false])
  })

  test('a header of another server', async () => {
    const other = createServer((_, response) => response.setHeader('content-type', 'text/javascript').end(start))
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const page = { body: `${slot}<script src="${address}/app.js"></script>` }
    const row = await triedApp(page, 'isolated', { for_ms: 3_000 }).finally(() => other.close())
    expect(row.why_not).toBe(`Under COEP the browser refuses ${address}/app.js, which does not permit other origins.`)
    expect(row.missing).toBe(`Cross-Origin-Resource-Policy: cross-origin on ${address}`)
  })

  test('the consent of a tool that comes late is awaited, one that is absent is not', async () => {
    const page = {
      body: `${slot}<script>
  const whenKnown = window.__tcfapi === undefined ? Promise.reject(new Error('no consent tool')) : new Promise((resolve) => {
    __tcfapi('addEventListener', 2, ({ purpose }) => purpose.consents[1] && resolve())
  })
  whenKnown.then(() => ${start})
</script>`,
    }
    const late = await triedApp(page, 'plain', { steps: '- cmp: late\n- wait: 500ms\n- cmp: granted' })
    expect(late).toMatchObject({ shows: true, counts: true, why_not: null })
    const absent = await triedApp(page, 'plain', { steps: '- cmp: absent', for_ms: 1_500 })
    expect(absent.why_not).toBe('The page throws before it asks for an ad: Error: no consent tool')
    const denied = await triedApp(page, 'plain', { steps: '- cmp: denied', for_ms: 1_500 })
    expect(denied.why_not).toContain('Nothing was seen')
  })
})
