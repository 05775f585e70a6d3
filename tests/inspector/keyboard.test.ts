/** "Keyboard alone reaches everything": each view is walked by Tab and the arrows, and what was not reached is named. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asked, beacon, fill, key } from '#tests/http/stage.ts'
import { type StagedInspector, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

/** A placement, a no-fill, beacons of both verdicts, consent, a rule, a snapshot: every view has something to reach. */
async function happen({ here }: StagedInspector): Promise<Ids> {
  const { api, clock } = here
  const filled = await fill(api, { format: 'banner' })
  await api.accept('beacons.send', { as: key, body: beacon(clock, filled, 'render') })
  await api.send('POST', '/v1/beacons', { as: key, body: { event: 'visble' } })
  await api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  await api.accept('consent.set', {
    as: key,
    body: { client_id: 'proj_demo', session_id: 'sess_1', decision: 'granted' },
  })
  await api.accept('faults.add', { body: { effect: 'delay', latency_ms: 1, path: '/v1/nothing' } })
  await api.accept('snapshots.save', { params: { name: 'before' }, body: { replace: true } })
  const { items } = (await api.accept('requests.list', { query: { path: '/v1/placements' } })).body
  return { slot_id: filled.slot_id, request_id: items[0]!.request_id }
}

interface Ids {
  slot_id: string
  request_id: string
}

const views: readonly (readonly [name: string, pathOf: (ids: Ids) => string])[] = [
  ...['/', '/playground', '/placements'].map(fixed),
  ['a placement', ({ slot_id }) => `/placements/${slot_id}`],
  ...['/sessions/sess_1', '/beacons', '/requests'].map(fixed),
  ['a request', ({ request_id }) => `/requests/${request_id}`],
  ...['/callbacks', '/consent', '/evidence', '/billing', '/billing/reconcile', '/projects/proj_demo'].map(fixed),
  ...['clock', 'faults', 'scenarios', 'settings', 'keys', 'data'].map((part) => fixed(`/controls?part=${part}`)),
  ...['/reference?q=placements.create', '/reference?endpoint=placements.create'].map(fixed),
]

function fixed(path: string): readonly [string, () => string] {
  return [path, () => path]
}

describe('Tab and the arrows reach every control, each with a focus that is seen', () => {
  let inspector: StagedInspector
  let ids: Ids
  beforeAll(async () => {
    inspector = await openStaged()
    ids = await happen(inspector)
  })
  afterAll(() => inspector?.[Symbol.asyncDispose]())

  test.each(views)('%s', async (_, pathOf) => {
    const { page, go } = inspector
    const path = pathOf(ids)
    await go(path)
    await page.locator('main :is(.panel, [role=row], .empty, .file-drop)').first().waitFor()
    // A panel that is read meanwhile takes the focus away with what it replaces: then the walk begins again.
    await expect
      .poll(async () => {
        const { unreached, unseen, reached } = await walk(page, path !== '/')
        return { unreached, unseen, hasControls: reached > 3 }
      })
      .toEqual({ unreached: [], unseen: [], hasControls: true })
  })
})

test('rows are reached by j, k and the arrows, and the first and the last row end them', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await happen(inspector)
  await go('/requests')
  const rows = page.locator('[data-row]')
  await page.getByText('5 shown').waitFor()
  const names = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row')))
  const focused = (index: number) => page.locator(`[data-row="${names[index]}"]:focus`).waitFor()
  await page.keyboard.press('j')
  await focused(0)
  await page.keyboard.press('k')
  await focused(0)
  for (let index = 1; index < names.length; index++) {
    await page.keyboard.press(index % 2 === 0 ? 'j' : 'ArrowDown')
    await focused(index)
  }
  await page.keyboard.press('ArrowDown')
  await focused(names.length - 1)
  await page.keyboard.press('ArrowUp')
  await focused(names.length - 2)
})

test('a dialog keeps the focus, and gives it back to its button', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/controls?part=data')
  const reset = page.getByRole('button', { name: 'Reset to the seed' })
  await reset.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').waitFor()
  for (let presses = 0; presses < 5; presses++) {
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('[role=alertdialog]') !== null)).toBe(true)
  }
  await page.keyboard.press('Escape')
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await page.locator('button:focus', { hasText: 'Reset to the seed' }).waitFor()
})

test('a choice is opened, changed and closed by keys, and a tab and a radio follow the arrows', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await happen(inspector)
  await go('/placements')
  await page.getByText('2 shown').waitFor()
  await page.getByRole('button', { name: /Outcome/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('option', { name: 'no-fills' }).waitFor()
  await page.keyboard.press('End')
  await page.locator('[role=option][data-focused]', { hasText: 'no-fills' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/placements?fill=false')
  await page.getByText('1 shown').waitFor()
  await go('/controls')
  await page.getByRole('tab', { name: 'Clock' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('heading', { name: 'Fault rules' }).waitFor()
  await go('/playground')
  await page.getByRole('radio', { name: 'Any', exact: true }).focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForURL('**/playground?format=banner')
})

interface Walk {
  reached: number
  /** Controls that no key led to. */
  unreached: string[]
  /** Those whose focus cannot be seen. */
  unseen: string[]
}

/**
 * Presses Tab until the focus leaves the page. A group with one stop is walked by its arrows. Within main it begins with the link
 * that skips the navigation.
 */
async function walk(page: Page, isWithinMain: boolean): Promise<Walk> {
  await page.evaluate(() => {
    const reached = new Set<Element>()
    const unseen = new Set<Element>()
    const isMarked = (element: Element | null, depth: number): boolean =>
      element !== null &&
      depth > 0 &&
      (getComputedStyle(element).outlineStyle !== 'none' || isMarked(element.parentElement, depth - 1))
    Object.assign(window, { walk: { reached, unseen } })
    document.addEventListener('focusin', ({ target }) => {
      if (!(target instanceof Element)) return
      reached.add(target)
      // A field in a box has the mark of its box, a hidden radio that of its label; the composer of a product has a border.
      requestAnimationFrame(() => {
        if (document.activeElement === target && !isMarked(target, 4) && target.closest('.composer') === null)
          unseen.add(target)
      })
    })
    ;(document.activeElement as HTMLElement | null)?.blur()
  })
  if (isWithinMain) {
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
  }
  for (let presses = 0; presses < 600; presses++) {
    await page.keyboard.press('Tab')
    const members = await page.evaluate(() => {
      const active = document.activeElement
      const group = active?.closest('[role=radiogroup], [role=tablist]')
      if (active === document.body) return null
      return group == null ? 0 : group.querySelectorAll('[role=radio], [role=tab], input[type=radio]').length
    })
    if (members === null) break
    // Around the group, and back to the member that it began with.
    for (let step = 0; step < members; step++) await page.keyboard.press('ArrowRight')
    // A tab that was passed over has shown its panel, and the first one is read again.
    if (members > 0) await page.waitForFunction(() => document.querySelector('.loading') === null)
  }
  return page.evaluate(
    (within) => {
      const { reached, unseen } = (window as unknown as { walk: { reached: Set<Element>; unseen: Set<Element> } }).walk
      const name = (element: Element) =>
        `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.textContent ?? ''}`.slice(
          0,
          60,
        )
      const controls = [
        ...document
          .querySelector(within)!
          .querySelectorAll(
            'a[href], button, input, textarea, summary, [tabindex="0"], [role=tab], [role=radio], [role=switch], [role=checkbox]',
          ),
      ].filter(
        (element) =>
          element.checkVisibility({ visibilityProperty: true }) &&
          !element.matches(':disabled, [aria-disabled=true], [aria-hidden=true] *, [type=file], [type=hidden]') &&
          // The cross of a search field: Escape empties it.
          !element.matches('.clear'),
      )
      const isReached = (element: Element) =>
        reached.has(element) || [...element.querySelectorAll('input')].some((input) => reached.has(input))
      return {
        reached: reached.size,
        unreached: controls.filter((element) => !isReached(element)).map(name),
        unseen: [...unseen].map(name),
      }
    },
    isWithinMain ? 'main' : 'body',
  )
}
