import type { Browser, LaunchOptions } from 'playwright-core'
import { expect, test } from 'vitest'
import { launchFirefox } from './firefox.ts'

test('on Windows, which has no scripts in the place of programs, Firefox starts by its own path', async () => {
  const given: (LaunchOptions | undefined)[] = []
  const browser = { close: async () => {} } as Browser
  const firefox = {
    launch: async (options?: LaunchOptions) => {
      given.push(options)
      return browser
    },
  }
  const executablePath = 'C:\\Program Files\\Mozilla Firefox\\firefox.exe'
  const launched = await launchFirefox(firefox, { executablePath }, 'win32')
  expect(launched.browser).toBe(browser)
  expect(given).toMatchObject([{ executablePath, channel: 'moz-firefox' }])
})
