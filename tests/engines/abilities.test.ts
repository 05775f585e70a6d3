/** In each engine: what it has and what svc can do in it is what the page about browsers says. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { closeEngine, engineUnderTest } from './engines.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/browsers.md'), 'utf8')
const columns: Readonly<Record<string, number>> = { chromium: 2, firefox: 3, webkit: 4 }

/** Returns the rows of the table below a heading, for the engine under test. */
function stated(heading: string): Record<string, boolean> {
  const section = page.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| What'))
  return Object.fromEntries(
    rows
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map((cells) => [cells[1]!, cells[columns[process.env.SVC_ENGINE!]!] === 'yes']),
  )
}

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, await (await engineUnderTest()).get())
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await closeEngine()
})

test('the engine has what the page says', async () => {
  await using host = await stage.open({ headers: { 'content-security-policy': "img-src 'none'" } })
  const measured = await host.page.evaluate(async (origin) => {
    const slot = document.querySelector<HTMLElement>('#slot')!
    slot.style.cssText = 'width:50px;height:50px'
    const entry = await new Promise<IntersectionObserverEntry>((resolve) => {
      const options = { trackVisibility: true, delay: 100 } as IntersectionObserverInit
      new IntersectionObserver(([first], observer) => {
        observer.disconnect()
        resolve(first!)
      }, options).observe(slot)
    })
    const violation = await new Promise<boolean>((resolve) => {
      document.addEventListener('securitypolicyviolation', () => resolve(true))
      setTimeout(resolve, 5_000, false)
      new Image().src = `${origin}/none.png`
    })
    return {
      'Intersection Observer v2: `trackVisibility`': 'isVisible' in entry,
      '`fetch` with `keepalive`': 'keepalive' in new Request('/', { keepalive: true }),
      '`navigator.userActivation`': 'userActivation' in navigator,
      '`moveBefore`': 'moveBefore' in Element.prototype,
      '`document.prerendering`': 'prerendering' in document,
      '`securitypolicyviolation`': violation,
      '`layout-shift` entries': PerformanceObserver.supportedEntryTypes.includes('layout-shift'),
    }
  }, stage.sandbox.url)
  expect(measured).toEqual(stated('What each engine has'))
})

test('svc shows a page with the preferences that the page says', async () => {
  const { cannot } = await engineUnderTest()
  const rows = stated('What svc can do in each engine')
  const dark = !cannot.includes('dark')
  const reduced = !cannot.includes('reduced_motion')
  expect({ dark, reduced }).toEqual({
    dark: rows['Show a page to a user who prefers dark colours'],
    reduced: rows['Show a page to a user who prefers reduced motion'],
  })
  const context = {
    ...(dark && { colorScheme: 'dark' as const }),
    ...(reduced && { reducedMotion: 'reduce' as const }),
  }
  await using host = await stage.open({ context })
  const seen = await host.page.evaluate(() => ({
    dark: matchMedia('(prefers-color-scheme:dark)').matches,
    reduced: matchMedia('(prefers-reduced-motion:reduce)').matches,
  }))
  expect(seen).toEqual({ dark, reduced })
})
