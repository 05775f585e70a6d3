/** Projects in which the package runs inside other programs: test runners, DOM environments and bundles. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { inject } from 'vitest'
import { installTools } from '../interop/tools.ts'
import { environment } from '../templates/run.ts'

/** The tools of the `package.json` beside this file. */
const tools = join(
  await installTools(inject('system_tmp'), {}, join(import.meta.dirname, 'package.json'), 'test:templates'),
  'node_modules',
)

/** Writes a project that has the packed package, copied so that it resolves the runners of the project, and every tool. */
export function writeProject(
  name: string,
  files: Record<string, string>,
  manifest: object = { type: 'module' },
): string {
  const directory = join(inject('newcomer'), '..', `in-process-${name}`)
  const installed = join(directory, 'node_modules')
  mkdirSync(installed, { recursive: true })
  const newcomer = join(inject('newcomer'), 'node_modules')
  cpSync(join(newcomer, 'svc-sandbox'), join(installed, 'svc-sandbox'), { recursive: true })
  for (const folder of [tools, newcomer]) {
    const taken = new Set(readdirSync(installed))
    for (const entry of readdirSync(folder)) {
      if (!entry.startsWith('.') && !taken.has(entry)) symlinkSync(join(folder, entry), join(installed, entry))
    }
  }
  const all = { 'package.json': JSON.stringify({ private: true, ...manifest }), ...files }
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), text)
  }
  return directory
}

/** Runs Node in a project. Resolves with the exit code and what was printed; a hang ends after five minutes, with code NaN. */
export function runNode(directory: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: directory, env: environment(), timeout: 300_000, killSignal: 'SIGKILL' as const }
    execFile(process.execPath, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? Number.NaN)
      resolve({ code, output: stripVTControlCharacters(stdout + stderr) })
    })
  })
}
