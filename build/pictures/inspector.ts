/**
 * A picture of every view of the inspector, light and dark, in docs/inspector. The sandbox has a seed, and the demo was open in
 * it, so that each picture shows placements that were rendered, seen and refused.
 */
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'

const folder = join(import.meta.dirname, '../../docs/inspector')
const size = { width: 1_280, height: 860 }

/** Writes every picture of docs/inspector again. */
export async function makeInspector(): Promise<void> {
  await using sandbox = await startSandbox({ seed: 1 })
  const browser = await launchChromium()
  try {
    await fillSandbox(sandbox, browser)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    let total = 0
    const painter = await browser.newPage()
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: size, colorScheme })
      for (const [name, path] of await addresses(sandbox, page)) {
        await page.goto(sandbox.url + path)
        await page.locator('h1').first().waitFor()
        await page.waitForFunction(() => document.querySelector('.loading') === null)
        if (name === 'playground') {
          await page.getByRole('form', { name: 'Request' }).getByRole('button', { name: 'Send', exact: true }).click()
          await page.locator('.events').getByText('visible', { exact: true }).first().waitFor()
        }
        // The chart and the frame are drawn a moment later.
        await page.waitForTimeout(1_500)
        const picture = await asWebp(painter, await page.screenshot())
        writeFileSync(join(folder, `${name}-${colorScheme}.webp`), picture)
        total += picture.length
      }
      await page.close()
    }
    console.log(`${folder}: ${Math.round(total / 1_000)} kB`)
  } finally {
    await browser.close()
  }
}

/** Returns the views of the navigation and one placement, by the name of their picture. */
async function addresses(sandbox: Sandbox, page: Page): Promise<[name: string, path: string][]> {
  await page.goto(`${sandbox.url}/_sandbox/`)
  await page.locator('nav.views a').first().waitFor()
  const hrefs = await page
    .locator('nav.views a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
  const views = hrefs.filter((href) => href.startsWith('/_sandbox/') && !/\/(demo|docs)/.test(href))
  const response = await fetch(`${sandbox.url}/_sandbox/beacons?event=visible&limit=1`)
  const { items } = (await response.json()) as { items: { slot_id: string }[] }
  return [
    ...views.map((href): [string, string] => [href.split('/')[2] || 'overview', href]),
    ...items.map(({ slot_id }): [string, string] => ['placement', `/_sandbox/placements/${slot_id}`]),
  ]
}

/** Lets the demo show ads, and sends what a first integration sends: consent, no-fills, and a beacon with a mistake. */
async function fillSandbox(sandbox: Sandbox, browser: Browser): Promise<void> {
  const { client_id, secret_key } = sandbox.keys
  const post = (path: string, body: object) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret_key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const topics = ['coffee', 'travel', 'photography', 'gardening']
  const formats = ['banner', 'clip', 'native']
  for (let index = 0; index < 24; index++) {
    await post('/v1/placements', {
      client_id,
      session_id: `session-${index % 5}`,
      job_type: 'chat',
      prompt: { topic: topics[index % topics.length] },
      overrides: { allowed_formats: [formats[index % formats.length]] },
      ...(index % 8 === 7 && { test_outcome: 'no_fill' }),
    })
  }
  for (const decision of ['granted', 'denied']) {
    const purposes = { semantic_targeting: decision === 'granted', prompt_shared: decision === 'granted' }
    await post('/v1/consent', { client_id, session_id: 'session-1', decision, purposes })
  }
  await receiveCallbacks((callback_url) =>
    post('/v1/jobs', { client_id, session_id: 'session-1', job_type: 'agent', slots_requested: 3, callback_url }),
  )
  const page = await browser.newPage({ viewport: size })
  for (const format of formats) {
    await page.goto(`${sandbox.url}/_sandbox/demo?format=${format}`)
    await page.waitForTimeout(4_000)
  }
  await page.close()
  await post('/v1/beacons', {
    beacon_id: 'beacon-00000001',
    asset_token: 'ast_unknown',
    event: 'visble',
    occurred_at_ms: 1,
  })
}

/** Receives the callbacks of a job; the second gets an error, so that it is retried. */
async function receiveCallbacks(create: (callback_url: string) => Promise<unknown>): Promise<void> {
  let received = 0
  const server = createServer((_, response) => {
    received++
    response.writeHead(received === 2 ? 503 : 204).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await create(`http://127.0.0.1:${(server.address() as AddressInfo).port}/decided`)
  while (received < 3) await setTimeout(50)
  server.close()
}

/** A browser writes WebP, a fifth of the size of its PNG. */
async function asWebp(painter: Page, png: Buffer): Promise<Buffer> {
  const url = await painter.evaluate(
    async (source) => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.width
      canvas.height = image.height
      canvas.getContext('2d')?.drawImage(image, 0, 0)
      return canvas.toDataURL('image/webp', 0.64)
    },
    `data:image/png;base64,${png.toString('base64')}`,
  )
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
}
