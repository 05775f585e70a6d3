/** The page where the user lets a page steer the sandbox, or refuses it (A114). */
import { expect, test } from 'vitest'
import type { ConsoleAsk, ConsoleClaim } from '#contract/resources/sandbox/console.ts'
import { origin, type Stage } from '#tests/http/stage.ts'
import { expectAccessibleInBoth, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

async function ask({ api }: Stage, from = origin): Promise<ConsoleAsk> {
  const { body } = await api.send('POST', '/_sandbox/console/page/ask', { origin: from, body: {} })
  return body as ConsoleAsk
}

async function claim({ api }: Stage, { grant_id, secret }: ConsoleAsk): Promise<string> {
  const call = { origin, body: { grant_id, secret } }
  return ((await api.send('POST', '/_sandbox/console/page/claim', call)).body as ConsoleClaim).status
}

const pathOf = ({ confirm_url }: ConsoleAsk) => confirm_url.slice(confirm_url.indexOf('/console'))

test('an ask shows its origin and code, opening it confirms nothing, and its button does', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const own = await ask(here)
  await go(pathOf(own))
  const panel = page.getByRole('region', { name: 'A page asks to steer this sandbox' })
  await panel.getByText(own.code, { exact: true }).waitFor()
  await panel.getByText(origin, { exact: true }).waitFor()
  expect(await claim(here, own)).toBe('waiting')
  await expectAccessibleInBoth(page)
  await panel.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText(`${origin} may steer this sandbox. Go back to your page.`).waitFor()
  expect(await claim(here, own)).toBe('confirmed')
  await panel.getByRole('button', { name: `Revoke ${origin}` }).click()
  await page.getByText(`${origin} may no longer steer.`).waitFor()
  expect((await here.api.accept('console.list')).body.items).toMatchObject([{ status: 'refused' }])
})

test('nothing is confirmed by a click that comes as soon as the tab is in front', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const own = await ask(here)
  await go(pathOf(own))
  const button = page.getByRole('button', { name: 'Confirm' })
  await expect.poll(() => button.isEnabled()).toBe(true)
  // In the page, where a busy host does not delay it.
  const isDisabled = await button.evaluate(async (element: HTMLButtonElement) => {
    window.dispatchEvent(new Event('focus'))
    await new Promise(requestAnimationFrame)
    element.click()
    return element.disabled
  })
  expect(isDisabled).toBe(true)
  await expect.poll(() => button.isEnabled()).toBe(true)
  expect(await claim(here, own)).toBe('waiting')
})

test('other asks are listed with what answers and refuses them, and one that has ended says so', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const other = 'http://localhost:4000'
  const own = await ask(here)
  await go('/console')
  await ask(here, other)
  await page.getByRole('button', { name: `Refuse ${other}` }).click()
  await page.getByText(`${other} is refused.`).waitFor()
  await page.getByRole('link', { name: `Answer ${origin}` }).click()
  await page.getByText(own.code, { exact: true }).waitFor()
  await here.api.accept('sandbox.reset')
  await page.getByText('This ask has ended').waitFor()
})

test('the ways to open the console have a bookmark that opens it where it is clicked', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/controls')
  await page.getByRole('link', { name: 'Console on a page' }).click()
  const code = await page.getByRole('link', { name: 'svc console' }).getAttribute('href')
  // What a browser does with a bookmark.
  const run = new Function('window', 'location', code!.slice('javascript:'.length))
  const done: string[] = []
  const location = { href: 'http://localhost:3000/chat?a=1', assign: (url: URL) => done.push(url.href) }
  run({ SponsoredPlacement: { openConsole: () => done.push('opened') } }, location)
  run({}, location)
  expect(done).toEqual(['opened', 'http://localhost:3000/chat?a=1&svc_console=1'])
  await page.getByRole('button', { name: 'Copy the bookmark' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code)
})
