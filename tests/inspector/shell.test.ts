/** The frame of the inspector: keys, palette, themes, the connection, the admin token, and who gets nothing. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { violations } from '#tests/browser/axe.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { holdTime } from '#tests/browser/held-time.ts'
import { connect } from '#tests/http/call.ts'
import { asked, fill, key, stage } from '#tests/http/stage.ts'
import { desk, isTooWide, openInspector, phone } from './inspector-page.ts'
import { stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('every view, in both themes and at both widths, has no violation, no horizontal scroll and no problem', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  await fill(on.api, { format: 'banner' })
  await fill(on.api, { format: 'native', body: asked({ session_id: 'sess_2' }) })
  await go('/')
  const hrefs = await page
    .locator('nav.views a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
  // The others have hostile text in their fields, in files of their own.
  const others = /demo|docs|playground|requests|controls|reference/
  const paths = hrefs.filter((href) => !others.test(href)).map((href) => href.replace('/_sandbox', ''))
  expect(paths.length).toBeGreaterThan(5)
  for (const path of paths) {
    await page.setViewportSize(desk)
    await page.emulateMedia({ colorScheme: 'light' })
    await go(path)
    expect([path, 'light', await violations(page), await isTooWide(page)]).toEqual([path, 'light', [], false])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize(phone)
    expect([path, 'dark', await violations(page), await isTooWide(page)]).toEqual([path, 'dark', [], false])
  }
})

test('a view is shown as soon as it is loaded, when it is opened and when another one is', async () => {
  await using on = await stage()
  await fill(on.api)
  const context = await (await sharedChromium()).newContext({ viewport: desk })
  const page = await context.newPage()
  // What waits for a time waits forever.
  await holdTime(page)
  await page.goto(`${on.sandbox.url}/_sandbox/placements`)
  await page.locator('.table-body [role=row]').first().waitFor()
  await page.locator('nav.views').getByRole('link', { name: 'Evidence' }).click()
  await page.locator('.table-body [role=row]').getByText('decision').waitFor()
  await context.close()
})

test('the keyboard alone goes from view to view, row to row, and into a placement and its trace', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const slots = [await fill(on.api, { format: 'banner' }), await fill(on.api, { format: 'banner' })]
  await go('/')
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog').locator('dd')
  await keys.first().waitFor()
  const names = await keys.allTextContents()
  expect(names).toEqual([...new Set(names)])
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL('**/_sandbox/placements')
  await page.getByRole('row').nth(2).waitFor()
  await page.keyboard.press('/')
  const read = page.waitForResponse(/session_id=sess_1/)
  await page.keyboard.type('sess_1')
  await page.waitForURL('**/placements?q=sess_1')
  await read
  await page.keyboard.press('Tab')
  await page.getByRole('row').nth(2).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await page.locator(`[data-row=${slots[0]!.slot_id}]:focus`).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/_sandbox/placements/${slots[0]!.slot_id}`)
  const rule = page.locator('button.funnel-row').first()
  await rule.waitFor()
  for (let presses = 0; presses < 60; presses++) {
    if (await rule.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await page.locator('.funnel-detail .id').first().waitFor()
})

test('the palette finds views and actions, and the theme stays when the page is opened again', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('evid')
  await page.getByRole('menuitem', { name: /^Evidence/ }).click()
  await page.waitForURL('**/_sandbox/evidence')
  await page.getByRole('button', { name: /^Go to a view/ }).click()
  await page.keyboard.type('dark')
  await page.getByRole('menuitem', { name: /^Dark theme/ }).click()
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  await expect.poll(ground).toBe('rgb(9, 9, 11)')
  await page.reload()
  await page.locator('h1').first().waitFor()
  expect(await ground()).toBe('rgb(9, 9, 11)')
  await page.getByRole('radio', { name: 'Light theme' }).click()
  expect(await ground()).toBe('rgb(244, 244, 245)')
})

test('Ctrl-K finds pages of the documentation, by their titles and by what they say, and opens them', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  const documentation = page.getByRole('group', { name: 'Documentation' })
  for (const [text, title, topic] of [
    ['time tr', 'Time travel', 'time-travel'],
    ['rate_limited', 'rate_limited', 'errors/rate_limited'],
  ] as const) {
    await go('/')
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await documentation.getByRole('menuitem', { name: title }).first().click()
    await page.waitForURL(`**/_sandbox/docs/${topic}`)
  }
})

test('a lost connection is said, and after another start everything is read again and writes go on', async () => {
  const first = await startSandbox({ port: 0 })
  const { port } = first
  await using inspector = await openInspector(first, '/placements')
  const { page } = inspector
  await page.getByText('No placements yet').waitFor()
  await page.locator('.live[data-tone=good]').waitFor()
  await first.close()
  await page.getByText('Connection lost.').waitFor()
  await page.getByRole('button', { name: 'Waiting', exact: true }).waitFor()
  const second = await startSandbox({ port })
  try {
    const { slot_id } = await fill(connect(second))
    await page.getByText('Connected again.').waitFor()
    await page.getByRole('button', { name: 'Live', exact: true }).waitFor()
    await page.getByRole('row').nth(1).getByText(slot_id).waitFor()
    const { slot_id: next } = await fill(connect(second))
    await page.getByRole('row').nth(1).getByText(next).waitFor()
    await page.waitForFunction(() => document.querySelector('.banner') === null)
    // Only a new document gets the new token, so the first write opens the page again.
    await page.locator('nav.views').getByRole('link', { name: 'Controls' }).click()
    const reopened = page.waitForEvent('load')
    await page.getByRole('button', { name: 'Freeze' }).click()
    await reopened
    await page.getByRole('button', { name: 'Freeze' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
  } finally {
    await second.close()
  }
})

test('after another start in memory, the last minute counts only what happens there', async () => {
  const first = await startSandbox({ port: 0 })
  const { port } = first
  for (let index = 0; index < 3; index++) await fill(connect(first))
  await using inspector = await openInspector(first, '/')
  const { page } = inspector
  const counted = page.getByRole('region', { name: 'The last minute' }).locator('dd').first()
  await expect.poll(() => counted.innerText()).toMatch(/^3 /)
  await first.close()
  await page.getByText('Connection lost.').waitFor()
  const second = await startSandbox({ port })
  try {
    await page.getByText('Connected again.').waitFor()
    await fill(connect(second))
    await expect.poll(() => counted.innerText()).toMatch(/^1 /)
  } finally {
    await second.close()
  }
})

test('beyond loopback it asks for the admin token once, and has it in no address', async () => {
  await using on = await stage({ allowed_hosts: ['sandbox.test'] })
  await using inspector = await openInspector(on.sandbox)
  const { page } = inspector
  const field = page.getByLabel('Admin token')
  await field.fill('sbx_wrong')
  await page.getByRole('button', { name: 'Open the inspector' }).click()
  await page.getByText('This is not the admin token').waitFor()
  expect(await violations(page)).toEqual([])
  await field.fill(on.sandbox.admin_token)
  await page.getByRole('button', { name: 'Open the inspector' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.locator('.live[data-tone=good]').waitFor()
  const { slot_id } = await fill(on.api)
  await page.goto(`${on.sandbox.url}/_sandbox/placements/${slot_id}?token=${on.sandbox.admin_token}`)
  await page.getByRole('heading', { name: slot_id }).waitFor()
  expect(page.url()).toBe(`${on.sandbox.url}/_sandbox/placements/${slot_id}`)
  await page.frameLocator('iframe').locator('.creative').waitFor()
})

test('text that looks like markup is shown as text, wherever it comes from', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\${8*8}javascript:alert(3)`
  const session_id = hostile.slice(0, 100)
  await on.api.send('POST', '/v1/placements', { as: key, body: asked({ session_id }) })
  await on.api.send('POST', '/v1/placements', {
    as: key,
    body: asked({ session_id: 'sess_1', prompt: { topic: hostile } }),
  })
  await on.api.send('POST', '/v1/consent', {
    as: key,
    body: { client_id: 'proj_demo', session_id, decision: 'granted' },
  })
  await on.api.send('POST', '/v1/beacons', {
    as: key,
    body: { beacon_id: hostile, event: hostile, [hostile]: hostile },
  })
  await go('/')
  const dialogs: string[] = []
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  const name = encodeURIComponent(hostile)
  const beacon = (await on.api.accept('beacons.list')).body.items[0]!
  for (const path of [
    '/',
    '/placements',
    `/placements?q=${name}`,
    `/sessions/${encodeURIComponent(session_id)}`,
    `/placements/${name}`,
    `/jobs/${name}`,
    `/campaigns/${name}`,
    `/beacons/@${beacon.received_at_ms}`,
    `/beacons/${name}`,
    `/consent/${name}`,
    '/consent',
    `/evidence/${name}`,
    `/id/${name}`,
  ]) {
    await go(path)
    expect([path, await page.locator('img, main script').count()]).toEqual([path, 0])
  }
  expect(dialogs).toEqual([])
})

test('a page on another origin and a name that was rebound reach nothing', async () => {
  await using on = await stage()
  await fill(on.api)
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>elsewhere</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const context = await (await sharedChromium()).newContext()
  try {
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const read = await page.evaluate(async (url) => {
      const text = (path: string, init: RequestInit) =>
        fetch(url + path, init).then(
          (response) => response.text(),
          () => 'refused',
        )
      const frame = document.createElement('iframe')
      frame.src = `${url}/_sandbox/`
      document.body.append(frame)
      await new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }))
      const opened = window.open(`${url}/_sandbox/placements`)
      await new Promise((resolve) => setTimeout(resolve, 500))
      let seen = 'nothing'
      try {
        seen = opened?.document.body.textContent ?? 'nothing'
      } catch {
        seen = 'refused'
      }
      return [
        await text('/_sandbox/inspector/session', {}),
        await text('/_sandbox/placements', { headers: { accept: 'text/html' } }),
        await text('/_sandbox/inspector/session', { mode: 'no-cors' }),
        await text('/_sandbox/funnel', { mode: 'no-cors' }),
        frame.contentDocument?.body?.textContent ?? 'refused',
        seen === '' ? 'nothing' : seen,
      ]
    }, on.sandbox.url)
    expect(read).toEqual(['refused', 'refused', '', '', 'refused', expect.stringMatching(/^(nothing|refused)$/)])
  } finally {
    await context.close()
    server.close()
  }
  for (const path of ['', 'inspector/session', 'inspector/inspector.js', 'placements']) {
    const rebound = await on.api.send('GET', `/_sandbox/${path}`, {
      headers: { host: `evil.example:${on.sandbox.port}` },
    })
    expect([path, rebound.status]).toEqual([path, 421])
  }
})
