/** WebKit as distributions ship it, for computers on which Playwright's own cannot be installed: found, and launched. */
import { globSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { OwnEngine } from '#qa/browser/engines.ts'
import { QaError } from '#qa/result.ts'
import { openWebKit } from './browser.ts'

export const webkitOfDistribution: OwnEngine = {
  name: 'WebKitGTK',
  findProgram: async () => (miniBrowser() === null ? null : findOnPath('WebKitWebDriver')),
  async launch({ path, computer, reachable, is_headed = false }) {
    const browser = miniBrowser()
    const screen = is_headed ? null : await findOnPath('Xvfb')
    if (browser === null || (screen === null && computer.env.DISPLAY === undefined))
      throw new QaError('browser_missing', 'MiniBrowser or Xvfb was not found.', 'Install them: .ci/install-browsers')
    const programs = { driver: path, browser, screen }
    const { browser: opened, kill } = await openWebKit({ programs, computer, reachable })
    return { browser: opened, process: { kill }, cannot: [] }
  },
}

/** The newest that is installed. Fedora has it in /usr/libexec, Debian in a folder of the processor. */
function miniBrowser(): string | null {
  const patterns = [
    '/usr/lib/*/webkit2gtk-4.*/MiniBrowser',
    '/usr/lib*/webkit*gtk-*/MiniBrowser',
    '/usr/libexec/webkit*gtk-*/MiniBrowser',
  ]
  const found = patterns.flatMap((pattern) => globSync(pattern))
  return found.toSorted().at(-1) ?? null
}

async function findOnPath(name: string): Promise<string | null> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  for (const path of folders.map((folder) => join(folder, name))) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return path
  }
  return null
}
