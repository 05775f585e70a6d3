/**
 * What mounted ads cost a page that does nothing, and one on which an answer streams: processor time of the whole browser, as a share of
 * the time that passes, beside the same page without ads. `node bench/idle.ts`
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { createClient } from '#client/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { sandboxCommand, startServer } from './server.ts'

const { values } = parseArgs({ options: { ads: { type: 'string' }, seconds: { type: 'string' } } })
const ads = Number(values.ads ?? 60)
const seconds = Number(values.seconds ?? 10)

/** Clock ticks of Linux, milliseconds. */
const tick_ms = 10

/** Returns the processor time of every process of a browser that this one has started, milliseconds. */
function browserCpu(): number {
  const parents = new Map<number, { parent: number; ticks: number }>()
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      parents.set(Number(name), { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) })
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid)?.parent ?? 0
    return parent === process.pid || (parent > 1 && isOurs(parent))
  }
  const isServer = (pid: number): boolean => pid === sandbox.pid || pid === host.pid
  return [...parents].reduce((sum, [pid, { ticks }]) => sum + (isOurs(pid) && !isServer(pid) ? ticks : 0), 0) * tick_ms
}

/** Returns the share of one processor that the browser uses, percent. */
async function measure(): Promise<number> {
  const [cpu, began] = [browserCpu(), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  return ((browserCpu() - cpu) / (performance.now() - began)) * 100
}

async function openPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 800, height: 700 } })
  await page.goto(host.url.replace('127.0.0.1', 'localhost'))
  await page.evaluate((ads) => {
    document.querySelector('#box')!.remove()
    const slots = Array.from({ length: ads }, (_, index) => `<div id="slot-${index}" style="min-height:290px"></div>`)
    document.body.insertAdjacentHTML(
      'beforeend',
      `<p id="answer" style="height:60px;overflow:hidden"></p>${slots.join('')}`,
    )
  }, ads)
  return page
}

async function mountAds(page: Page): Promise<void> {
  const client = createClient({ base_url: sandbox.url, credential: 'sk_test_sandbox_demo' })
  for (let index = 0; index < ads; index += 1) {
    const response = await client.placements.create({
      body: {
        client_id: 'proj_demo',
        session_id: `idle-${performance.now()}`,
        job_type: 'chat',
        slot_hint: { max_width: 300, max_height: 250 },
        overrides: { allowed_formats: ['banner'] },
      },
    })
    await page.evaluate(
      async ({ response, index }) => {
        const api = window.SponsoredPlacement!
        const rendered = new Promise<void>((resolve) => {
          const off = api.on('*', ({ type, slot_id }) => {
            if (type !== 'rendered' || slot_id !== response.slot_id) return
            off()
            resolve()
          })
        })
        api.renderPlacement({ target: `#slot-${index}`, response })
        await rendered
      },
      { response, index },
    )
  }
}

/** Scrolls to each ad, for as long as a view takes. */
async function seeAll(page: Page): Promise<void> {
  await page.evaluate(async (ads) => {
    for (let index = 0; index < ads; index += 2) {
      document.querySelector(`#slot-${index}`)!.scrollIntoView()
      await new Promise((resolve) => setTimeout(resolve, 1_700))
    }
    scrollTo(0, 0)
  }, ads)
}

/** Adds a word to the answer, 20 times a second. */
async function stream(page: Page, isOn: boolean): Promise<void> {
  await page.evaluate((isOn) => {
    clearInterval(Reflect.get(window, 'streaming'))
    const answer = document.querySelector('#answer')!
    const add = (): void => answer.append(Object.assign(document.createElement('span'), { textContent: 'word ' }))
    if (isOn) Object.assign(window, { streaming: setInterval(add, 50) })
    else answer.replaceChildren()
  }, isOn)
}

async function report(name: string, page: Page): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const idle = await measure()
  await stream(page, true)
  const streaming = await measure()
  await stream(page, false)
  console.log(
    `${name.padEnd(30)} idle ${idle.toFixed(1).padStart(5)} %   streaming ${streaming.toFixed(1).padStart(5)} %`,
  )
}

const sandbox = await startServer(sandboxCommand)
const host = await startServer(['bench/browser-host.ts', sandbox.url])
const browser = await launchChromium()
try {
  const page = await openPage(browser)
  await report('no ads', page)
  await mountAds(page)
  await report(`${ads} ads, 2 in view`, page)
  await seeAll(page)
  await report(`${ads} ads, all viewed`, page)
} finally {
  await browser.close()
  await host.stop()
  await sandbox.stop()
}
