/** Once a run: svc packed by `npm pack` and installed into an empty directory, as its user has it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { checkout, run } from './run.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A directory that has svc installed, and room for projects beside it. */
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
