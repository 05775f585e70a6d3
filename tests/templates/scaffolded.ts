/** A template as a newcomer gets it: `svc init` from the packed package, then npm from the registry. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject } from 'vitest'
import { environment, install, run } from './run.ts'

/** Written by npm when an install is complete. */
const installed = 'node_modules/.package-lock.json'

export interface Scaffolded {
  /** The project, installed. */
  directory: string
  scripts: Readonly<Record<string, string>>
  /** Runs a command in the project, with the programs that it installed on the path; resolves with its stdout. */
  run(command: string, ...args: string[]): Promise<string>
}

/** Scaffolds into an empty directory and installs, once per run: the tests of a template share it. */
export async function scaffold(template: string): Promise<Scaffolded> {
  const newcomer = inject('newcomer')
  const name = `try-${template}`
  const empty = join(newcomer, template)
  const directory = join(empty, name)
  if (!existsSync(join(directory, installed))) {
    mkdirSync(empty)
    await run(process.execPath, [join(newcomer, 'node_modules/svc-sandbox/bin/svc.js'), 'init', template, name], empty)
    await install(directory)
  }
  expect(readdirSync(empty)).toEqual([name])
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  return {
    directory,
    scripts,
    run: (command, ...args) =>
      run(command, args, directory, { PATH: `${join(directory, 'node_modules/.bin')}:${environment().PATH}` }),
  }
}
