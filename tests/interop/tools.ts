/**
 * Global setup: the tools of the `package.json` beside this file, installed into a temporary folder that later runs find
 * again. A changed version is another folder.
 */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { run } from '../templates/run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder whose `node_modules` has the tools. */
    tools: string
  }
}

const pinned = join(import.meta.dirname, 'package.json')

export default async function setup({ provide }: TestProject): Promise<void> {
  provide('tools', await installTools(tmpdir()))
}

/** Returns the folder with the tools of a `package.json`, below `root`. @throws Error that names the registry when it has to, and cannot, install */
export async function installTools(
  root: string,
  env: Record<string, string> = {},
  manifest: string = pinned,
  script = 'test:interop',
): Promise<string> {
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name: string }
  const hash = createHash('sha256').update(readFileSync(manifest)).update(process.version).digest('hex').slice(0, 12)
  const directory = join(root, `${name}-${process.getuid?.() ?? 0}-${hash}`)
  if (existsSync(directory)) return directory
  const next = mkdtempSync(`${directory}-`)
  try {
    copyFileSync(manifest, join(next, 'package.json'))
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock']
    await run('npm', ['install', ...flags], next, env)
    // Two runs at a time both install; the first one is kept.
    if (!existsSync(directory)) renameSync(next, directory)
    return directory
  } catch (error) {
    const registry = env.npm_config_registry ?? (await run('npm', ['config', 'get', 'registry'], next)).trim()
    throw new Error(
      `npm run ${script} could not install its tools from ${registry}.\nCheck the network, or name a registry that has them: npm config set registry URL\n\n${String(error)}`,
    )
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}
