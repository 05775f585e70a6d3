/**
 * Global setup of `npm run test:computers`: the Nodes of other computers, kept for later runs; the package, packed and
 * installed as a user would; and the disk of a computer with Windows, which Wine makes on its first start.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { installTools } from '../interop/tools.ts'
import { checkout, install, run } from '../templates/run.ts'
import { imitatedComputers } from './computers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A project with the package, installed. */
    project: string
    /** The folder whose `node_modules` has the Nodes. */
    nodes: string
    /** The disk of Windows: WINEPREFIX. */
    disk: string
    version: string
  }
}

export default async function setup({ provide }: TestProject): Promise<() => void> {
  const computers = imitatedComputers()
  if (computers.length === 0) return () => {}
  const directory = mkdtempSync(join(tmpdir(), 'svc-other-computers-'))
  const [project, disk] = [join(directory, 'project'), join(directory, 'disk')]
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  try {
    const windows = computers.find(({ name }) => name === 'windows')
    const booted =
      windows && run(windows.runner, ['wineboot', '--init'], directory, { ...windows.env, WINEPREFIX: disk })
    // Their packages are for other computers, so npm installs them only by force.
    const manifest = join(import.meta.dirname, 'package.json')
    const nodes = await installTools(tmpdir(), { npm_config_force: 'true' }, manifest, 'test:computers')
    await run(process.execPath, ['build/dist.ts', '--if-stale', '--types'], checkout)
    const packed = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], checkout)
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }))
    await install(project, '--omit=optional', '--omit=peer', join(directory, packed.trim().split('\n').at(-1)!))
    await booted
    provide('project', project)
    provide('nodes', nodes)
    provide('disk', disk)
    provide('version', JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).version)
    return () => {
      if (windows !== undefined) endWine(windows.runner, { ...windows.env, WINEPREFIX: disk })
      remove()
    }
  } catch (error) {
    remove()
    throw error
  }
}

/** Ends what Wine keeps running for a while, of this disk alone. */
function endWine(runner: string, env: Record<string, string>): void {
  execFileSync(runner, ['wineboot', '--kill'], { env: { ...process.env, ...env }, stdio: 'ignore', timeout: 30_000 })
}
