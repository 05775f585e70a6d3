/** Runs a coding agent, any command line, on a copy of a task, and grades what it leaves. */
import { readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Browser } from 'playwright-core'
import { createClient } from '#client/index.ts'
import { startSandbox } from '#sandbox/index.ts'
import { canConfine } from './confine.ts'
import { grade } from './grade.ts'
import { type Help, writeHelp } from './help.ts'
import { type Ended, runProgram } from './program.ts'
import { checkout, copyProject } from './project.ts'
import type { Task, Verdict } from './task.ts'

export interface AgentOptions {
  /** Words of its command line; `{prompt}` and `{dir}` in them are replaced. */
  command: readonly string[]
  help: Help
  /** Names of variables of this computer that it gets, such as that of the key of its model. */
  passed: readonly string[]
  time_ms: number
  output_bytes: number
}

export interface AgentRun extends Ended {
  task: string
  help: Help
  /** From its start to its end, seconds. */
  took_s: number
  verdict: Verdict
}

/** An agent gets a sandbox of its own while it works; its work is graded with another one. */
export async function runAgent(task: Task, options: AgentOptions, browser: () => Promise<Browser>): Promise<AgentRun> {
  const { command, help, passed, time_ms, output_bytes } = options
  using project = copyProject(task)
  const { directory } = project
  const before = canConfine() ? null : listFiles(checkout)
  const started_ms = performance.now()
  let ended: Ended
  {
    await using sandbox = await startSandbox(task.sandbox)
    const { client_id, secret_key, publishable_key } = sandbox.keys
    const client = createClient({ base_url: sandbox.url, credential: secret_key })
    await task.prepare?.({ client, directory })
    writeHelp(directory, help)
    const fill = { '{prompt}': task.prompt, '{dir}': directory }
    const words = command.map((word) => word.replace(/\{prompt\}|\{dir\}/g, (name) => fill[name as keyof typeof fill]))
    const env = {
      // What it installs must be there already: this computer's registry is no part of the task.
      npm_config_offline: 'true',
      ...Object.fromEntries(passed.map((name) => [name, process.env[name] ?? ''])),
      SVC_BASE_URL: sandbox.url,
      SVC_CLIENT_ID: client_id,
      SVC_SECRET_KEY: secret_key,
      SVC_PUBLISHABLE_KEY: publishable_key,
    }
    ended = await runProgram(words, { directory, env, time_ms, output_bytes })
  }
  const took_s = (performance.now() - started_ms) / 1_000
  const verdict = await grade(task, directory, browser)
  const changed = before === null ? [] : findChanged(before, listFiles(checkout))
  return { ...ended, task: task.name, help, took_s, verdict: changed.length === 0 ? verdict : blame(verdict, changed) }
}

function blame(verdict: Verdict, changed: readonly string[]): Verdict {
  const message = `These files of the checkout have changed meanwhile: ${changed.slice(0, 5).join(', ')}.`
  return { ...verdict, passed: false, reasons: [{ code: 'wrote_outside', message }, ...verdict.reasons] }
}

/** Returns the size and time of each file, by its path. */
export function listFiles(folder: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || /\/(node_modules\/\.(cache|vite)|\.git)\//.test(path)) continue
    const { size, mtimeMs } = statSync(path)
    files.set(relative(folder, path), `${size} ${mtimeMs}`)
  }
  return files
}

export function findChanged(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name))
}
