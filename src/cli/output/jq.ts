/**
 * `--jq`: jq 1.7 as WebAssembly, without access to files, the network or the environment of this process. An
 * expression is compiled before anything is sent, so that a typo has no effect.
 */

import { readMessage } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'
import { jsonText } from '#text/terminal.ts'

/** The program that the package provides: one run at a time, output as text. */
interface Program {
  raw(json: string, expression: string, flags: readonly string[]): Promise<string>
  /** What `raw` calls; it returns the exit code of jq. */
  callMain(args: readonly string[]): number
}

/** A jq expression, ready to be applied. */
export interface JqFilter {
  /** Returns the results, one per line: strings unquoted, everything else as JSON. */
  apply(value: unknown): Promise<string>
}

/** The exit code of jq for an expression that does not compile. */
const notCompiled = 3

/** Loads jq and compiles an expression. Throws CliError, with the place of the error, when it does not compile. */
export async function compileJq(expression: string): Promise<JqFilter> {
  const { default: load } = await import('jq-wasm/dist/build/jq.js')
  const program = (await load()) as Program
  let exit_code = 0
  const { callMain } = program
  program.callMain = (args) => {
    exit_code = callMain(args)
    return exit_code
  }
  const run = async (json: string, text: string) => {
    const output = await program.raw(json, text, ['-r', '-c']).catch((error: Error) => error)
    return { output, exit_code }
  }
  const trial = await run('null', expression)
  if (trial.exit_code === notCompiled) throw await compileError(expression, String(trial.output), run)

  return {
    async apply(value) {
      const json = jsonText(value)
      const { output, exit_code } = await run(json, expression)
      if (exit_code === 0) return String(output)
      // After some output jq does not report its error.
      const failed = output instanceof Error ? output : (await run(json, `(${expression}\n) | empty`)).output
      throw new CliError('usage', 'jq_failed', `--jq: ${errorText(failed)}.`, 'See its input: -o json')
    },
  }
}

type Run = (json: string, expression: string) => Promise<{ output: string | Error; exit_code: number }>

async function compileError(expression: string, output: string, run: Run): Promise<CliError> {
  const [, reason = 'it does not compile'] =
    /^(?:Error: )?jq: error: (.*?)(?: \(Unix shell quoting issues\?\))? at /.exec(output) ?? []
  const at = await findErrorIndex(expression, run)
  const before = expression.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  const hint = before === '' ? 'For example: .items[].slot_id' : `It is valid up to: ${before}`
  return new CliError('usage', 'jq_malformed', `--jq, line ${line}, column ${column}: ${reason}.`, hint)
}

/** Returns the index of the error: jq names only its line. The text before it may be incomplete, but not wrong. */
async function findErrorIndex(expression: string, run: Run): Promise<number> {
  for (let end = 1; end <= expression.length; end++) {
    const { output, exit_code } = await run('null', expression.slice(0, end))
    if (exit_code !== notCompiled || /unexpected end of file|is not defined/.test(String(output))) continue
    return end - 1
  }
  const [, name = ''] =
    /error: (\$?\w+)(?:\/\d+)? is not defined/.exec(String((await run('null', expression)).output)) ?? []
  const place = name === '' ? -1 : expression.search(new RegExp(`${name.replace('$', '\\$')}(?!\\w)`))
  return place === -1 ? expression.length : place
}

function errorText(failed: string | Error): string {
  return String(readMessage(failed)).replace(/^jq: error (?:\(at [^)]*\))?:? ?/, '')
}
