/** Once per run: packs svc with `npm pack` and installs it into an empty directory, as a user would. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { checkout, run } from './run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A directory with svc installed, and room for projects beside it. */
    newcomer: string
  }
}

export default async function setup({ provide }: TestProject) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-templates-'))
  const newcomer = join(directory, 'newcomer')
  mkdirSync(newcomer)
  writeFileSync(join(newcomer, 'package.json'), JSON.stringify({ name: 'newcomer', private: true }))
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', directory], checkout)
  await run('npm', ['install', '--no-audit', '--no-fund', join(directory, packed.trim().split('\n').at(-1)!)], newcomer)
  provide('newcomer', newcomer)
  return () => rmSync(directory, { recursive: true, force: true })
}
