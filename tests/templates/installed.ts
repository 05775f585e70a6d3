/**
 * Once per run: packs svc with `npm pack` and installs it into an empty directory, as a user would. dist and its types are built only when
 * they are stale.
 */
import { globSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { checkout, install, run } from './run.ts'

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
  await run(process.execPath, ['build.ts', '--if-stale'], checkout)
  if (!hasFreshTypes())
    await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], checkout)
  const packed = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], checkout)
  await install(newcomer, join(directory, packed.trim().split('\n').at(-1)!))
  provide('newcomer', newcomer)
  return () => rmSync(directory, { recursive: true, force: true })
}

/** Whether the declarations in dist are newer than every source. */
function hasFreshTypes(): boolean {
  const modified = (file: string) => statSync(join(checkout, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const written = modified('dist/types/sandbox/index.d.ts')
  return globSync(['src/**/*.ts', 'sandbox/**/*.ts', 'tsconfig*.json'], { cwd: checkout }).every(
    (file) => modified(file) < written,
  )
}
