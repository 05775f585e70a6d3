/** `npm run evals`: runs an agent on the tasks, or grades a folder. Writes nothing but what `--out` and `--copy` name. */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { startSandbox } from '#sandbox/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { type AgentRun, runAgent } from './agent.ts'
import { grade } from './grade.ts'
import { measureHelp } from './help.ts'
import { findUngradable } from './languages.ts'
import { type EvalOptions, OptionError, readOptions, usage } from './options.ts'
import { copyProject } from './project.ts'
import { createReport, toMarkdown } from './report.ts'
import { tasks } from './tasks.ts'

let opened: Promise<Browser> | undefined
const browser = () => {
  opened ??= launchChromium()
  return opened
}

process.exitCode = await main(process.argv.slice(2))
await (await opened)?.close()

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args)
    if (options.copy !== null) return copy(options, options.copy)
    return options.folder === null ? await measure(options) : await gradeFolder(options, options.folder)
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
    console.error(`${error.message}\n\n${usage.replace('NAMES', tasks.map(({ name }) => name).join(', '))}`)
    return 2
  }
}

function copy({ tasks: [task] }: EvalOptions, folder: string): number {
  if (existsSync(folder)) throw new OptionError(`${folder} is there already.`)
  using project = copyProject(task!)
  cpSync(project.directory, folder, { recursive: true, verbatimSymlinks: true })
  console.log(
    `${task!.prompt}\n\nThe project is in ${folder}. Grade it: npm run evals -- --tasks ${task!.name} ${folder}`,
  )
  return 0
}

async function gradeFolder({ tasks: [task] }: EvalOptions, folder: string): Promise<number> {
  if (!existsSync(folder)) throw new OptionError(`There is no folder ${folder}.`)
  const { passed, reasons, billed, warnings } = await grade(task!, folder, browser)
  for (const { code, message } of reasons) console.log(`${code}: ${message}`)
  if (warnings.length > 0) console.log(`warnings of svc observe: ${warnings.join(', ')}`)
  console.log(`would bill: ${JSON.stringify(billed)}`)
  console.log(`${task!.name}: ${passed ? 'passed' : 'failed'}`)
  return passed ? 0 : 1
}

async function measure(options: EvalOptions): Promise<number> {
  const missing = findUngradable()
  const left_out = options.tasks
    .filter(({ name }) => missing.has(name))
    .map(({ name }) => `${name}, because ${missing.get(name)} is not installed`)
  const runs: AgentRun[] = []
  for (const task of options.tasks.filter(({ name }) => !missing.has(name)))
    for (const help of options.helps)
      for (let count = 1; count <= options.repeat; count++) {
        const { words: command, passed, time_ms, output_bytes } = options
        const run = await runAgent(task, { command, help, passed, time_ms, output_bytes }, browser)
        console.error(
          `${task.name}, ${help}, ${count}: ${run.verdict.passed ? 'passed' : run.verdict.reasons[0]?.code}`,
        )
        runs.push(run)
      }
  await using sandbox = await startSandbox()
  const offered = await Promise.all(options.helps.map((help) => measureHelp(help, sandbox.url)))
  const report = createReport({ agent: options.agent ?? '', repeat: options.repeat, offered, runs, left_out })
  if (options.out === null) console.log(toMarkdown(report))
  else {
    mkdirSync(options.out, { recursive: true })
    writeFileSync(join(options.out, 'report.md'), toMarkdown(report))
    writeFileSync(join(options.out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  }
  return 0
}
