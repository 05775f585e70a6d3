/** A number leads to its rows: on every page with counts, each count opens a list with as many rows. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { asked, beacon, fill, key, type Stage } from '#tests/http/stage.ts'
import { stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

/** Fills that got to each step, no-fills, and beacons that bill, do not count, are repeated and are refused. */
async function addTraffic({ api, clock, sandbox }: Stage): Promise<void> {
  const send = (filled: { asset_token: string }, event: string, more: Record<string, unknown> = {}) =>
    fetch(`${sandbox.url}/v1/beacons`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(beacon(clock, filled, event, more)),
    })
  const low = { measurements: { visible_ratio: 0.1, visible_ms: 10 } }
  for (const [index, format] of (['banner', 'native', 'clip', 'banner', 'banner'] as const).entries()) {
    const filled = await fill(api, { format, body: asked({ session_id: index < 2 ? 'sess_1' : 'sess_2' }) })
    if (index === 4) continue
    const render = { beacon_id: `render-beacon-${index}`, occurred_at_ms: clock.now() }
    await send(filled, 'render', render)
    await send(filled, 'render', render)
    if (index === 2) await send(filled, 'play_completed')
    else if (index === 3)
      await send(filled, 'visible', {
        occurred_at_ms: clock.now() + 1_000,
        measurements: { visible_ratio: 1, visible_ms: 1_000 },
      })
    else await send(filled, 'visible', low)
    if (index === 0) await send(filled, 'visible')
    await send(filled, 'play_started')
    await send(filled, 'click')
    await send(filled, 'click')
  }
  await send({ asset_token: 'ast_unknown' }, 'render')
  await api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill', session_id: 'sess_1' }) })
}

interface Shown {
  count: number
  href: string
}

/** Resolves to the counts of a page, and the whole numbers on it that lead nowhere. */
async function readFigures(page: Page): Promise<{ figures: Shown[]; others: string[] }> {
  return page.evaluate(() => {
    const figures = [...document.querySelectorAll<HTMLAnchorElement>('main a[data-figure]')].map((link) => ({
      count: Number(link.textContent?.replaceAll(',', '')),
      href: link.href,
    }))
    const others: string[] = []
    const texts = document.createTreeWalker(document.querySelector('main')!, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const text = texts.currentNode.textContent?.trim() ?? ''
      const parent = texts.currentNode.parentElement!
      if (!/^\d[\d,]*$/.test(text) || parent.closest('a[data-figure], .chart, [role=grid], [role=table], pre, code'))
        continue
      // The number of rows of a table that is on this page.
      if (/^\d[\d,]* shown$/.test(parent.textContent ?? '')) continue
      others.push(`${text} in ${parent.parentElement?.textContent}`)
    }
    return { figures, others }
  })
}

test('each count of overview, billing, funnel and session opens a list with as many rows', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  await addTraffic(on)
  const countRows = async (href: string) => {
    const items: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const url = new URL(href)
      url.searchParams.set('limit', '2')
      if (cursor !== '') url.searchParams.set('cursor', cursor)
      const response = await fetch(url, { headers: { accept: 'application/json' } })
      const body = (await response.json()) as { items: unknown[]; next_cursor: string | null }
      expect([href, response.status]).toEqual([href, 200])
      items.push(...body.items)
      cursor = body.next_cursor
    }
    return items.length
  }
  const least = { '/': 9, '/billing': 14, '/billing?session_id=sess_1': 10, '/beacons': 18, '/sessions/sess_1': 6 }
  for (const [path, count] of Object.entries(least)) {
    await go(path)
    const read = async () => (await readFigures(page)).figures.length
    await expect.poll(read).toBeGreaterThanOrEqual(count)
    expect([path, (await readFigures(page)).others]).toEqual([path, []])
    // The counts of the last minute come with the events, after the page.
    await expect
      .poll(async () => {
        const { figures } = await readFigures(page)
        const rows = await Promise.all(figures.map(({ href }) => countRows(href)))
        const differing = figures.flatMap(({ count, href }, index) => (rows[index] === count ? [] : [[href, count]]))
        return { path, differing, isAnyCounted: figures.some(({ count }) => count > 0) }
      })
      .toEqual({ path, differing: [], isAnyCounted: true })
  }

  await go('/billing')
  await page.locator('dt:text-is("Never viewed") + dd a').click()
  await page.waitForURL('**/placements?missing=visible')
  await expect.poll(() => page.getByRole('row').count()).toBe(1 + 4)
  await go('/beacons?reason=BELOW_THRESHOLD')
  await expect.poll(() => page.getByRole('row').count()).toBe(1 + 2)
  await page.locator('.chip-link').first().click()
  await page.waitForURL('**/beacons?reason=BELOW_THRESHOLD')
})

test('placements say how far each got, and the lines of billing are saved as they are', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  await addTraffic(on)
  const { items } = (await on.api.accept('placements.list', { query: { with_reached: 'true' } })).body
  const reached = items.map(({ fill, reached }) => (fill === true ? (reached ?? 'decision') : 'none'))
  expect(reached.toSorted()).toEqual(['billable', 'decision', 'none', 'rendered', 'rendered', 'rendered'])
  for (const { slot_id, reached } of items) {
    const { body } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(body.reached ?? null).toBe(reached ?? null)
  }
  await go('/placements')
  await page.getByRole('columnheader', { name: 'Reached' }).waitFor()
  for (const step of ['billable', 'rendered', 'decision']) {
    const shown = page.getByRole('row').getByText(step, { exact: true })
    await expect.poll(() => shown.count()).toBe(reached.filter((each) => each === step).length)
  }
  await page.getByRole('button', { name: 'not filtered Did not reach' }).waitFor()
  await go('/billing')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('billing.csv')
  const { lines } = (await on.api.accept('billing.report', {})).body
  const [header = '', ...rows] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  const names = header.split(',')
  expect(rows.map((row) => Number(row.split(',')[names.indexOf('count')]))).toEqual(lines.map(({ count }) => count))
})
