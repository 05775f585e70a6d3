/** The programs that open a page, as scripts that note how they are called. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { openUrl } from './open-url.ts'

afterEach(() => vi.unstubAllEnvs())

test.each([
  ['win32', 'rundll32', 'url.dll,FileProtocolHandler http://127.0.0.1:4010/?a=1&b=%20'],
  ['darwin', 'open', 'http://127.0.0.1:4010/?a=1&b=%20'],
  ['linux', 'xdg-open', 'http://127.0.0.1:4010/?a=1&b=%20'],
])('on %s the page opens by %s, its address as it is', async (platform, name, args) => {
  const folder = temporaryDirectory()
  writeFileSync(join(folder, name), `#!/bin/sh\necho "$@" >"${folder}/called"\n`, { mode: 0o755 })
  const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ':0' }
  vi.stubEnv('PATH', env.PATH)
  expect(await openUrl({ env, platform }, 'http://127.0.0.1:4010/?a=1&b=%20')).toBe(true)
  expect(readFileSync(join(folder, 'called'), 'utf8')).toBe(`${args}\n`)
  expect(await openUrl({ env: {}, platform: 'linux' }, 'http://127.0.0.1:4010/')).toBe(false)
})
