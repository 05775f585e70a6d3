/** The adapters for Vitest and Playwright with the real runners, in a project that has the packed package installed. */
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import chromium from '@sparticuz/chromium'
import { expect, inject, test } from 'vitest'
import { checkout, environment, run } from './run.ts'

const strict = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    checkers: 1,
    skipLibCheck: true,
    noEmit: true,
  },
}

/** Writes a project next to the installed package. The runners are those of the checkout, each from one place only. */
function writeProject(name: string, files: Record<string, string>): string {
  const directory = join(inject('newcomer'), name)
  const all = {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify(strict),
    ...files,
  }
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), text)
  }
  for (const runner of ['vitest', '@playwright/test', '@types/node']) {
    const link = join(inject('newcomer'), 'node_modules', runner)
    mkdirSync(dirname(link), { recursive: true })
    try {
      symlinkSync(join(checkout, 'node_modules', runner), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return directory
}

/** Runs a program of the checkout in a project. Resolves with its exit code and what it printed. */
function runIn(directory: string, program: string, args: string[], env: Record<string, string> = {}) {
  return new Promise<{ code: number; output: string }>((resolve) => {
    const words = [join(checkout, 'node_modules', program), ...args]
    const options = { cwd: directory, env: { ...environment(), ...env }, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, words, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stripVTControlCharacters(stdout + stderr) })
    })
  })
}

/** Replaces what differs from run to run: identifiers and ports. */
function steady(text: string): string {
  return text.replace(/slot_[0-9a-z]{11}/g, 'SLOT').replace(/127.0.0.2:\d+/g, '127.0.0.2:PORT')
}

/** Returns the message of a failed test: from `Error:` to the place in its source, without the indentation of a runner. */
function readMessage(output: string, title: string): string {
  const [, indent = '', message = ''] =
    new RegExp(`${title}[^]*?\\n( *)\\w*Error: ([^]*?)\\n *(❯|> \\d+ \\||\\d+ \\||at )`).exec(output) ?? []
  return steady(message).replaceAll(`\n${indent}`, '\n').trim()
}

const turn = `
import type { TestSandbox } from 'svc-sandbox/vitest'

/** The integration under test: one turn, and reports about its slot. */
export async function place({ client, keys }: TestSandbox, session_id = 's1') {
  const body = { client_id: keys.client_id, session_id, job_type: 'chat', overrides: { allowed_formats: ['banner'] } } as const
  const { slot_id, placement } = await client.placements.create({ body: { ...body, overrides: { allowed_formats: ['banner'] } } })
  return { slot_id, asset_token: placement?.asset_token ?? '' }
}

export async function report(sandbox: TestSandbox, slot: { slot_id: string; asset_token: string }, event: string, more = {}, key = sandbox.keys.secret_key) {
  const now_ms = (await sandbox.client.clock.show()).now_ms
  const body = { beacon_id: slot.slot_id + ':' + event, ...slot, event, occurred_at_ms: now_ms, ...more }
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
  return (await fetch(sandbox.url + '/v1/beacons', { method: 'POST', headers, body: JSON.stringify(body) })).status
}
`

test('Vitest: a view is accepted and billed, tests are apart, and only the test moves its clock', async () => {
  const directory = writeProject('vitest-passing', {
    'turn.ts': turn,
    'passing.test.ts': `
import { expect, sandboxTest, test } from 'svc-sandbox/vitest'
import { place, report } from './turn.ts'

const seen = { measurements: { visible_ratio: 1, visible_ms: 1_000, page_visible: true } }
const start_ms = Date.UTC(2026, 0, 31)
const timed = sandboxTest({ clock_start_ms: start_ms, seed: 1 })
const apart = sandboxTest({ isolation: 'test', clock_start_ms: start_ms })

timed('a view is billed once it is reported', async ({ sandbox, clock }) => {
  const slot = await place(sandbox)
  await report(sandbox, slot, 'render')
  await expect(sandbox).not.toHaveBilled({ slot_id: slot.slot_id })
  clock.advance(1_000)
  const waited = sandbox.waitForBeacon('visible', { slot_id: slot.slot_id, timeout: 4_000 })
  const [{ would_bill }] = await Promise.all([waited, report(sandbox, slot, 'visible', seen)])
  expect(would_bill).toBe(true)
  await expect(sandbox).toHaveAccepted('visible', { slot_id: slot.slot_id, count: 1 })
  await expect(sandbox).toHaveBilled({ event: 'visible', metric: 'viewable_impression', count: 1 })
  await expect(sandbox).not.toHaveAccepted('click', { timeout: 100 })
  await expect(sandbox).toHaveNoRejectedBeacons()
})
timed('the next test has neither its beacons nor its time', async ({ sandbox }) => {
  expect(await sandbox.beacons()).toEqual([])
  expect((await sandbox.client.clock.show()).now_ms).toBe(start_ms)
})
test('the app finds it by its environment', async ({ sandbox }) => {
  expect(sandbox.env).toMatchObject({ SVC_BASE_URL: sandbox.url, SVC_CLIENT_ID: 'proj_demo', SVC_SECRET_KEY: 'sk_test_sandbox_demo' })
  await place(sandbox)
  await expect(sandbox).not.toHaveAccepted('render')
})
test('a clock of the sandbox that was moved is back', async ({ sandbox }) => {
  expect((await sandbox.client.clock.show()).offset_ms).toBe(0)
  await sandbox.client.clock.advance({ body: { by_ms: 1_000 } })
})
test('here too', async ({ sandbox }) => {
  expect((await sandbox.client.clock.show()).offset_ms).toBe(0)
})
apart.concurrent.for([1, 2, 3])('concurrent tests have a sandbox each: %i', async (count, { sandbox }) => {
  for (let number = 0; number < count; number++) await place(sandbox)
  expect((await sandbox.client.placements.list()).items).toHaveLength(count)
})
`,
  })
  const { code, output } = await runIn(directory, 'vitest/vitest.mjs', ['run'])
  expect(output).toContain('8 passed')
  expect(code).toBe(0)
  await run(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-p', '.'], directory)
})

test('Vitest: a failed expectation says which beacons came, which were refused and why, and what would be billed', async () => {
  const directory = writeProject('vitest-failing', {
    'turn.ts': turn,
    'failing.test.ts': `
import { expect, test } from 'svc-sandbox/vitest'
import { place, report } from './turn.ts'

test('missing view', async ({ sandbox }) => {
  const slot = await place(sandbox)
  await report(sandbox, slot, 'render')
  await report(sandbox, slot, 'visible', { measurements: { visible_ratio: 2 } })
  await report(sandbox, slot, 'click', {}, 'sk_test_of_nobody')
  await expect(sandbox).toHaveAccepted('visible', { slot_id: slot.slot_id, timeout: 50 })
})
test('rejected beacon', async ({ sandbox }) => {
  await report(sandbox, await place(sandbox), 'play_started')
  await expect(sandbox).toHaveNoRejectedBeacons()
})
test('glance', async ({ sandbox }) => {
  const slot = await place(sandbox)
  await report(sandbox, slot, 'render')
  await report(sandbox, slot, 'visible', { measurements: { visible_ratio: 0.2, visible_ms: 100, page_visible: true } })
  await expect(sandbox).toHaveBilled({ slot_id: slot.slot_id, timeout: 50 })
})
test('unwanted render', async ({ sandbox }) => {
  const slot = await place(sandbox)
  await report(sandbox, slot, 'render')
  await expect(sandbox).not.toHaveAccepted('render')
})
test('waits in vain', async ({ sandbox }) => {
  await sandbox.client.scenario.use({ params: { name: 'no_fill' }, body: {} })
  const { slot_id } = await sandbox.client.placements.create({ body: { client_id: 'proj_demo', session_id: 's1', job_type: 'chat' } })
  await sandbox.waitForBeacon('visible', { slot_id, timeout: 50 })
})
test('not a sandbox', async () => {
  await expect({ url: 'http://127.0.0.1' }).toHaveAccepted('render')
})
`,
  })
  const { code, output } = await runIn(directory, 'vitest/vitest.mjs', ['run'])
  expect(code).toBe(1)
  expect(readMessage(output, 'FAIL .*missing view')).toMatchInlineSnapshot(`
    "No accepted visible beacon of SLOT arrived within 50 ms.

    Beacons that arrived:
      accepted   render of SLOT
      rejected   click of SLOT, key_unknown: The key is unknown.
                 fix: Use a key that svc start printed, or create one: svc sandbox keys create.
      rejected   visible of SLOT, schema_invalid: The request does not match the schema.
                 measurements.visible_ratio: is too large (expected: at most 1)
                 fix: Correct the listed fields.
    Would be billed: nothing."
  `)
  expect(readMessage(output, 'FAIL .*rejected beacon')).toMatchInlineSnapshot(`
    "Expected no rejected beacon, but one was:

      rejected   play_started of SLOT, event_not_supported_for_format: play_started does not exist for banner.
                 fix: play_started, play_completed and completion are for clip."
  `)
  expect(readMessage(output, 'FAIL .*glance')).toMatchInlineSnapshot(`
    "Nothing of SLOT would be billed.

    Beacons that arrived:
      accepted   render of SLOT
      accepted   visible of SLOT, BELOW_THRESHOLD: the view is below the viewability threshold
    Would be billed: nothing."
  `)
  expect(readMessage(output, 'FAIL .*unwanted render')).toMatchInlineSnapshot(`
    "Expected no accepted render beacon, but one arrived.

    Beacons that arrived:
      accepted   render of SLOT
    Would be billed: nothing."
  `)
  expect(readMessage(output, 'FAIL .*waits in vain')).toMatchInlineSnapshot(`
    "No accepted visible beacon of SLOT arrived within 50 ms.

    No beacon of SLOT arrived.
    Placements:
      SLOT  no fill, no_demand: No partner offered a creative."
  `)
  expect(output).toContain('failing.test.ts:30:17')
  expect(readMessage(output, 'FAIL .*not a sandbox')).toMatchInlineSnapshot(
    `"toHaveAccepted expects the sandbox of a fixture: expect(sandbox).toHaveAccepted(...)"`,
  )
})

const app = `
import { createServer } from 'node:http'

const { SVC_BASE_URL, SVC_PUBLISHABLE_KEY, PORT } = process.env
const page = (format, hidden) => \`<!doctype html><title>App</title><div id="ad"></div>
<style>\${hidden ? '#ad { display: none }' : ''}</style>
<script src="\${SVC_BASE_URL}/v1/render.js"></script><script type="module">
await SponsoredPlacement.activate({ publishableKey: '\${SVC_PUBLISHABLE_KEY}' })
const body = { session_id: 'page', job_type: 'chat', overrides: { allowed_formats: ['\${format}'] } }
await SponsoredPlacement.withTurn({ target: '#ad', body }, () => new Promise(() => {}))
</script>\`

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://app')
  const html = pathname === '/' ? '<h1>No ads here</h1>' : page(pathname.slice(1), searchParams.has('hidden'))
  response.writeHead(200, { 'content-type': 'text/html' }).end(html)
}).listen(Number(PORT))
`

const configuration = `
import { defineConfig } from '@playwright/test'
import type { SandboxWorkerOptions } from 'svc-sandbox/playwright'

export default defineConfig<object, SandboxWorkerOptions>({
  workers: 1,
  reporter: 'line',
  use: {
    sandboxApp: { command: 'node app.js', url: 'http://127.0.0.2:PORT' },
    launchOptions: { executablePath: process.env.CHROMIUM ?? '', args: ['--no-sandbox', '--disable-gpu'] },
  },
})
`

test('Playwright: a page shows its placement, its beacons are waited for; and a failure says what happened instead', async () => {
  const directory = writeProject('playwright-project', {
    'app.js': app,
    'playwright.config.ts': configuration,
    'page.spec.ts': `
import { expect, test } from 'svc-sandbox/playwright'

test('shows a banner that is billed', async ({ page, sandbox }) => {
  await page.goto('/banner')
  await expect(page).toShowPlacement('banner')
  const { slot_id } = await sandbox.waitForBeacon('visible', { timeout: 10_000 })
  await expect(page).toShowPlacement('banner', { slot_id: slot_id! })
  await expect(sandbox).toHaveAccepted('visible', { slot_id: slot_id! })
  await expect(sandbox).toHaveBilled({ slot_id: slot_id!, count: 1 })
  await expect(sandbox).toHaveNoRejectedBeacons()
  // The origin of this app is not one that a project allows at first.
  expect(new URL(page.url()).hostname).toBe('127.0.0.2')
})
test('has a page without placements, and a sandbox without beacons', async ({ page, sandbox }) => {
  await page.goto('/')
  await expect(page).not.toShowPlacement()
  expect((await sandbox.client.requests.list()).items).toEqual([])
})
test('not filled', async ({ page, sandbox }) => {
  await sandbox.client.scenario.use({ params: { name: 'no_fill' }, body: {} })
  await page.goto('/banner')
  await expect(page).toShowPlacement('banner', { timeout: 1_000 })
})
test('hidden', async ({ page }) => {
  await page.goto('/native?hidden')
  await expect(page).toShowPlacement('native', { timeout: 1_000 })
})
test('refused', async ({ page, sandbox }) => {
  await page.goto('/banner')
  await expect(page).toShowPlacement()
  const { client_id } = sandbox.keys
  await sandbox.client.consent.set({ body: { client_id, session_id: 'page', decision: 'withdrawn' } })
  await expect.poll(async () => (await sandbox.beacons()).map(({ verdict }) => verdict)).toContain('rejected')
  await expect(sandbox).toHaveNoRejectedBeacons()
})
`,
    'own.spec.ts': `
import { expect, test } from 'svc-sandbox/playwright'

test.use({ sandboxOptions: { demand: 'demand.yaml', only: true } })
test('has our own ad', async ({ page, sandbox }) => {
  await page.goto('/banner')
  await expect(page).toShowPlacement('banner')
  const { items } = await sandbox.client.placements.list()
  expect(items).toMatchObject([{ campaign_id: 'cmp_fernhill_tea' }])
})
`,
    'demand.yaml': `
campaigns:
  - sponsor_name: Fernhill Tea
    click_url: https://fernhill.example/tea
    price_cpm: 40
    creatives: [{ file: tea.png }]
`,
  })
  const picture = new URL('../../fixtures/test-assets/banner-300x250.png', import.meta.url)
  copyFileSync(picture, join(directory, 'tea.png'))
  const CHROMIUM = await chromium.executablePath()
  const { code, output } = await runIn(directory, '@playwright/test/cli.js', ['test'], { CHROMIUM })
  expect(output).toContain('3 passed')
  expect(output).toContain('3 failed')
  expect(code).toBe(1)
  expect(readMessage(output, '\\d\\) .*not filled')).toMatchInlineSnapshot(`
    "The page http://127.0.0.2:PORT/banner did not show a banner placement within 1000 ms.

    The page had no placement frame.
    Placements:
      SLOT  no fill, no_demand: No partner offered a creative.
    No beacon arrived."
  `)
  expect(readMessage(output, '\\d\\) .*hidden')).toMatchInlineSnapshot(`
    "The page http://127.0.0.2:PORT/native?hidden did not show a native placement within 1000 ms.

    Frames in the page:
      SLOT  native, not drawn: not shown, it is not visible
    Placements:
      SLOT  filled, native
    Beacons that arrived:
      accepted   render of SLOT
    Would be billed: nothing."
  `)
  expect(readMessage(output, '\\d\\) .*refused')).toMatchInlineSnapshot(`
    "Expected no rejected beacon, but one was:

      rejected   visible of SLOT, consent_not_granted: Consent is not granted.
                 fix: Render nothing and send nothing; ask for a placement again when consent is granted."
  `)
  expect(output).toContain('attachment #1: console of the page (text/plain)')
  expect(output).toMatch(/#ad \(turn_\d+, slot_\w+\): no-fill no_demand/)
  expect(output).toContain('attachment #2: sandbox (text/plain)')
  await run(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-p', '.'], directory)
})
