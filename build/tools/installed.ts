/**
 * Programs that only one part of the work needs, each in a folder here with a manifest and a lock file of its own. They are
 * installed when that part first runs, so that `npm ci` of the checkout does not wait for them.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const kept = join(import.meta.dirname, '../../node_modules/.cache')

/**
 * Returns the `node_modules` of the tools of a folder here, which are installed first when they are not yet.
 *
 * @throws Error when the registry does not have them, or cannot be reached
 */
export function installTools(name: 'binary' | 'load'): string {
  const source = join(import.meta.dirname, name)
  const lock = readFileSync(join(source, 'package-lock.json'))
  const folder = join(kept, `tools-${name}-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`)
  if (existsSync(folder)) return join(folder, 'node_modules')
  // Complete under its name, or not there: two that install at a time do not meet.
  mkdirSync(kept, { recursive: true })
  const next = mkdtempSync(`${folder}-`)
  try {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(source, file), join(next, file))
    // A registry inside a network may have a certificate that only the system knows: npm would try again for minutes.
    const env = { ...process.env, NODE_USE_SYSTEM_CA: '1' }
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    execFileSync('npm', ['ci', ...flags], {
      cwd: next,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    })
    if (!existsSync(folder)) renameSync(next, folder)
    return join(folder, 'node_modules')
  } catch (error) {
    const which = `the tools of build/tools/${name}`
    throw new Error(`npm could not install ${which}. Check the network, and the registry: npm config get registry`, {
      cause: error,
    })
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}
