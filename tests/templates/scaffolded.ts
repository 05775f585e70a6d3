/** A template as a newcomer gets it: `svc init` of the packed package, then npm from the registry. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { environment, run } from './run.ts'

export interface Scaffolded {
  /** The project, installed. */
  directory: string
  scripts: Readonly<Record<string, string>>
  /** Runs a command in the project, with the programs that it installed on the path; answers stdout, rejects otherwise. */
  run(command: string, ...args: string[]): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Scaffolds into an empty directory and installs. */
export async function scaffold(template: string): Promise<Scaffolded> {
  const newcomer = inject('newcomer')
  const name = `try-${template}`
  const directory = join(newcomer, name)
  await run(process.execPath, [join(newcomer, 'node_modules/svc/bin/svc.js'), 'init', template, name], newcomer)
  await run('npm', ['install', '--no-audit', '--no-fund'], directory)
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  return {
    directory,
    scripts,
    run: (command, ...args) =>
      run(command, args, directory, { PATH: `${join(directory, 'node_modules/.bin')}:${environment().PATH}` }),
    async [Symbol.asyncDispose]() {
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
