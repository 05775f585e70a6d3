import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BrowserPlaces, findBrowser } from './find.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-browser-'))
})
afterEach(() => rmSync(home, { recursive: true }))

/** Creates an executable file below `home` and returns its path. */
function program(path: string): string {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, 0o755)
  return file
}

/** Returns the path of the browser that is found. The platform has none of its own in its usual places. */
async function found(places: Partial<BrowserPlaces> = {}, is_headed = false): Promise<string | undefined> {
  return (await findBrowser({ platform: 'freebsd', env: {}, home, cwd: home, ...places }, is_headed))?.path
}

test('a browser on the PATH is found first, in the order of the PATH', async () => {
  program('.cache/ms-playwright/chromium-1200/chrome-linux/chrome')
  const second = program('b/chromium')
  const env = { PATH: ['a', 'b'].map((folder) => join(home, folder)).join(delimiter) }
  expect(await found({ env })).toBe(second)
  const first = program('a/google-chrome')
  expect(await found({ env })).toBe(first)
})

test("the newest browser of Playwright's cache is found, one with a window before one without", async () => {
  const shell = program(
    '.cache/ms-playwright/chromium_headless_shell-1300/chrome-headless-shell-linux64/chrome-headless-shell',
  )
  expect(await found()).toBe(shell)
  expect(await found({}, true)).toBeUndefined()
  program('.cache/ms-playwright/chromium-999/chrome-linux/chrome')
  const newest = program('.cache/ms-playwright/chromium-1200/chrome-linux64/chrome')
  expect(await found()).toBe(newest)
  expect(await found({}, true)).toBe(newest)
  const own = program('browsers/chromium-1/chrome-win64/chrome.exe')
  expect(await found({ env: { PLAYWRIGHT_BROWSERS_PATH: join(home, 'browsers') } })).toBe(own)
  expect(await found({ platform: 'win32', env: { LOCALAPPDATA: join(home, '.cache') } })).toBe(newest)
  const name = 'Google Chrome for Testing'
  const mac = program(`Library/Caches/ms-playwright/chromium-2/chrome-mac-arm64/${name}.app/Contents/MacOS/${name}`)
  expect(await found({ platform: 'darwin' })).toBe(mac)
})

test('without another, the Chromium of the checkout is found and unpacked, on the platform that it is for', async () => {
  expect(await found({ platform: 'darwin' })).toBeUndefined()
  const browser = await findBrowser({ platform: 'linux', env: {}, home, cwd: home })
  // A browser of this computer goes first.
  const isPackaged = browser!.path.endsWith('/node_modules/@sparticuz/chromium')
  expect(await browser!.program()).toMatch(isPackaged ? /chromium$/ : browser!.path)
})
