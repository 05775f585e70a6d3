/** What `svc qa run` looks at: a fresh sandbox for each worker, the running one, or a service by its base URL. */
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { stateDirectory } from '../../cli/settings/files.ts'
import type { BrowserHost } from '../../qa/browser/launch.ts'
import type { PlannedCase } from '../../qa/run/plan.ts'
import type { Target, TargetOptions } from '../../qa/run/target.ts'
import type { RunFlags } from './run.ts'

type Chosen = Omit<TargetOptions, 'browser'>

export interface OpenTargets {
  targets: Target[]
  close(): Promise<void>
}

/** Sandboxes beyond this cost more to start than they save. Cases in a browser mostly wait: more of them help. */
const mostFresh = 2
const mostFreshWithBrowser = 4
const casesPerFresh = 20

/** Throws CliError where there is nothing to look at, or nothing that may be looked at. */
export async function openTargets(
  session: Session,
  flags: RunFlags,
  cases: readonly PlannedCase[],
  browser: BrowserHost | null,
): Promise<OpenTargets> {
  const { openTarget, TargetError } = await import('../../qa/run/target.ts')
  const closing: (() => Promise<void>)[] = []
  const close = async () => {
    for (const each of closing.reverse()) await each()
  }
  try {
    const wanted =
      flags.fresh === true
        ? await startFresh(session, flags, cases.length, browser === null ? mostFresh : mostFreshWithBrowser, closing)
        : [chosenService(session, flags)]
    const targets: Target[] = []
    for (const options of wanted) {
      const target = await openTarget({ ...options, browser })
      targets.push(target)
      closing.push(() => target.close())
    }
    return { targets, close }
  } catch (error) {
    await close()
    if (!(error instanceof TargetError)) throw error
    throw new CliError('unreachable', 'target_missing', error.message, error.hint)
  }
}

async function startFresh(
  session: Session,
  { seed, workers }: RunFlags,
  cases: number,
  most: number,
  closing: (() => Promise<void>)[],
): Promise<Chosen[]> {
  if (session.flags.base_url !== undefined) {
    throw new CliError('usage', 'target_twice', '--fresh and --base-url name two targets.', 'Leave one of them out.')
  }
  const { startOnFreePort } = await import('../sandbox/start.ts')
  const sandboxes = Math.max(1, Math.min(workers ?? most, most, Math.ceil(cases / casesPerFresh)))
  const wanted: Chosen[] = []
  for (let index = 0; index < sandboxes; index++) {
    const options = { port: 0, host: '127.0.0.1', ephemeral: true as const, ...(seed === undefined ? {} : { seed }) }
    const sandbox = await startOnFreePort(session, options, stateDirectory(session.host))
    closing.push(() => sandbox.close())
    const { client_id, secret_key, publishable_key } = sandbox.keys
    wanted.push({
      kind: 'fresh',
      base_url: sandbox.url,
      client_id,
      origin: null,
      keys: { secret: secret_key, publishable: publishable_key },
    })
  }
  return wanted
}

function chosenService({ settings }: Session, { allowLive }: RunFlags): Chosen {
  const { base_url, sandbox, secret_key, publishable_key, client_id, origin, source } = settings
  if (sandbox === null && source.base_url === 'default') {
    throw new CliError(
      'unreachable',
      'target_missing',
      'There is nothing to look at: no sandbox runs, and no service is named.',
      'Let the run start one: svc qa run --fresh. Or: svc start, or --base-url URL.',
    )
  }
  if (allowLive !== true && [secret_key, publishable_key].some((key) => /^[sp]k_live_/.test(key ?? ''))) {
    throw new CliError(
      'usage',
      'production_key_refused',
      `Cases would run against ${base_url} with a production key.`,
      'Use a test key, or say --allow-live: test_outcome is never sent then.',
    )
  }
  return {
    kind: sandbox === null ? 'service' : 'sandbox',
    base_url,
    client_id,
    origin,
    keys: { secret: secret_key, publishable: publishable_key },
    admin_token: sandbox?.admin_token,
  }
}
