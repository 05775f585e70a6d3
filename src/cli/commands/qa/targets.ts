/**
 * The setup of `svc qa`: the targets of a run (a fresh sandbox for each worker, the running one, or a service by its
 * base URL), and the browser.
 */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import type { CommandContext } from '#cli/run/command.ts'
import { noteOtherFolder } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { permittedControlToken, permittedSecretKey } from '#cli/settings/settings.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { startOnFreePort } from '#commands/sandbox/emulator.ts'
import { type Engine, engineNames, engines, installHints } from '#qa/browser/engines.ts'
import type { BrowserHost, BrowserOptions } from '#qa/browser/launch.ts'
import type { Target, TargetOptions } from '#qa/run/target.ts'
import { CliError } from '#text/cli-error.ts'
import { qaFailure } from './failure.ts'

export type TargetFlags = {
  fresh?: true
  seed?: number
  workers?: number
  allowLive?: true
}

interface OpenTargets {
  targets: Target[]
  close(): Promise<void>
}

type TargetChoice = Omit<TargetOptions, 'browser'>

/** More sandboxes than this cost more to start than they save. Browser cases mostly wait, so they gain from more. */
const maxFresh = 2
const maxFreshWithBrowser = 4
const casesPerFresh = 20

/** Opens the targets of a run of `cases` cases. Throws CliError when there is none, or none that is allowed. */
export async function openTargets(
  context: CommandContext,
  flags: TargetFlags,
  cases: number,
  browser: BrowserHost | null,
): Promise<OpenTargets> {
  const { openTarget } = await import('#qa/run/target.ts')
  const closing: (() => Promise<void>)[] = []
  const close = async () => {
    for (const each of closing.reverse()) await each()
  }
  try {
    const most = browser === null ? maxFresh : maxFreshWithBrowser
    const choices =
      flags.fresh === true
        ? await startFresh(context, flags, Math.min(most, Math.ceil(cases / casesPerFresh)), closing)
        : [chosenService(context, flags)]
    const targets: Target[] = []
    for (const options of choices) {
      const target = await openTarget({ ...options, browser })
      targets.push(target)
      closing.push(() => target.close())
    }
    return { targets, close }
  } catch (error) {
    await close()
    throw qaFailure(error)
  }
}

/** Starts at most `most` sandboxes in memory, and no more than there are workers. */
async function startFresh(
  context: CommandContext,
  { seed, workers }: TargetFlags,
  most: number,
  closing: (() => Promise<void>)[],
): Promise<TargetChoice[]> {
  if (context.flags.base_url !== undefined) {
    throw new CliError('usage', 'target_twice', '--fresh and --base-url name two targets.', 'Leave one of them out.')
  }
  const choices: TargetChoice[] = []
  while (choices.length < Math.max(1, Math.min(workers ?? most, most))) {
    const options = { port: 0, host: '127.0.0.1', ephemeral: true as const, ...(seed === undefined ? {} : { seed }) }
    const { sandbox } = await startOnFreePort(context, options)
    closing.push(() => sandbox.close())
    const { client_id, publishable_key } = sandbox.keys
    const keys = { secret: keyOfStarted(sandbox), publishable: publishable_key }
    choices.push({ kind: 'fresh', base_url: sandbox.url, client_id, origin: null, keys })
  }
  return choices
}

function chosenService({ system, settings }: CommandContext, { allowLive }: TargetFlags): TargetChoice {
  const { base_url, sandbox, secret_key, publishable_key, client_id, origin, source } = settings
  if (sandbox === null && source.base_url === 'default') {
    const hint = 'Use a fresh one: svc qa run --fresh. Or start one (svc start), or name a service (--base-url URL).'
    throw noSandboxFor(settings, hint)
  }
  noteOtherFolder(system, settings)
  if (allowLive !== true && [secret_key, publishable_key].some((key) => /^[sp]k_live_/.test(key ?? ''))) {
    throw new CliError(
      'usage',
      'production_key_refused',
      `Cases would run against ${base_url} with a production key.`,
      'Use a test key, or add --allow-live: test_outcome is never sent then.',
    )
  }
  const kind = sandbox === null ? 'service' : 'sandbox'
  const keys = { secret: permittedSecretKey(settings), publishable: publishable_key }
  return { kind, base_url, client_id, origin, keys, admin_token: permittedControlToken(settings) }
}

export const browserPathOption = new Option(
  '--browser-path <file>',
  'program of the browser; default: the first one found',
)

export function isEngine(word: string): boolean {
  return engines.some((each) => each === word)
}

/** The engine that a flag names. Throws CliError for any other word. */
export function parseEngine(word: string): Engine {
  const engine = engines.find((each) => each === word)
  if (engine !== undefined) return engine
  const message = `svc opens pages in chromium, firefox or webkit, not in '${word}'.`
  throw new CliError('usage', 'browser_unknown', message, 'Choose one of them: --browser firefox')
}

/** Returns the program of the browser. Throws CliError when there is none: cases are never skipped for that. */
export async function browserProgram(
  { system }: CommandContext,
  { engine, path, is_headed = false }: { engine: Engine; path: string | undefined; is_headed?: boolean },
  alternative: string,
): Promise<string> {
  const { findEngine } = await import('#qa/browser/find.ts')
  const given = path === undefined ? null : resolve(system.cwd, path)
  if (given !== null && existsSync(given)) return given
  const found = given === null ? await findEngine(engine, system, is_headed) : null
  if (found !== null) return found.program()
  throw new CliError(
    'unreachable',
    'browser_missing',
    given === null
      ? `No ${engineNames[engine]}${is_headed ? ' with a window' : ''} was found.`
      : `No browser found at ${path}.`,
    `${installHints[engine]} ${alternative}`,
  )
}

/** Starts the browser, which may reach the host of the base URL only, unless `options` allow others. Throws CliError. */
export async function startBrowser(
  { system, settings }: CommandContext,
  path: string,
  options: Partial<BrowserOptions> = {},
): Promise<BrowserHost> {
  const { openBrowserHost } = await import('#qa/browser/launch.ts')
  try {
    return await openBrowserHost({
      path,
      computer: system,
      reachable: [new URL(settings.base_url).hostname],
      ...options,
    })
  } catch (error) {
    throw qaFailure(error)
  }
}
