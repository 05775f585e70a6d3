/**
 * Once per run: packs svc with `npm pack` and installs it into an empty directory, as a user would. dist and its types are built only when
 * they are stale.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { checkout, install, run } from './run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A directory with svc installed, and room for projects beside it. */
    newcomer: string
    /** The packed package. */
    archive: string
  }
}

export default async function setup({ provide }: TestProject) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-templates-'))
  const newcomer = join(directory, 'newcomer')
  mkdirSync(newcomer)
  writeFileSync(join(newcomer, 'package.json'), JSON.stringify({ name: 'newcomer', private: true }))
  await run(process.execPath, ['build/dist.ts', '--if-stale', '--types'], checkout)
  const packed = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], checkout)
  const archive = join(directory, packed.trim().split('\n').at(-1)!)
  await install(newcomer, archive)
  provide('newcomer', newcomer)
  provide('archive', archive)
  return () => rmSync(directory, { recursive: true, force: true })
}
