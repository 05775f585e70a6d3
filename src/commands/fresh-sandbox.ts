/** A program against a sandbox of its own, watched to its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOfSignal, startGroup } from '../cli/process/process-group.ts'
import { CliError } from '../cli/run/errors.ts'
import type { Signal } from '../cli/run/host.ts'
import type { Session } from '../cli/run/session.ts'
import { stateDirectory } from '../cli/settings/files.ts'
import { environmentOf, pageOrigin } from '../cli/settings/settings.ts'
import { startOnFreePort } from './sandbox/start.ts'

export interface Driven {
  base_url: string
  secret_key: string
  words: readonly string[]
  /** Resolves when a page of the program answers. Throws CliError when it ends before, or takes too long. */
  ready(url: string): Promise<void>
  /** Its exit code, once it has ended; a server, which does not by itself, is asked to end first and counts as 0. */
  code(): Promise<number>
}

/** An app may be built before it answers. */
const readyWithin_ms = 120_000

/** Starts sandbox and program, lets `judge` look, and ends both. `isServer`: it runs until it is told to end. */
export async function driveCommand(
  session: Session,
  words: readonly string[],
  interrupt: AbortSignal,
  isServer: boolean,
  judge: (driven: Driven) => Promise<number>,
): Promise<number> {
  const { host, out } = session
  const options = { port: 0, ephemeral: true } as const
  const sandbox = await startOnFreePort(session, options, stateDirectory(host))
  try {
    if (interrupt.aborted) return codeOfSignal(interrupt.reason as Signal)
    out.note(`sandbox ${sandbox.url} for ${words.join(' ')}`)
    const origin = sandbox.projects.map(pageOrigin)[0] ?? null
    const variables = environmentOf({ base_url: sandbox.url, ...sandbox.keys, origin })
    const group = startGroup(host, words, { ...host.env, ...variables })
    let ended: number | null = null
    const ending = group.ended.then((code) => {
      ended = code
      return code
    })
    ending.catch(() => {})
    interrupt.addEventListener('abort', () => {
      if (!isServer) group.end(interrupt.reason as Signal)
    })
    const endedEarly = () => ended !== null
    try {
      return await judge({
        base_url: sandbox.url,
        secret_key: sandbox.keys.secret_key,
        words,
        ready: (url) => untilAnswering(url, words, endedEarly, ending),
        async code() {
          if (!isServer || endedEarly()) return ending
          group.end('SIGTERM')
          await ending
          return 0
        },
      })
    } finally {
      if (!endedEarly()) group.end('SIGTERM')
      await ending.catch(() => {})
    }
  } finally {
    await sandbox.close()
  }
}

async function untilAnswering(
  url: string,
  words: readonly string[],
  endedEarly: () => boolean,
  ending: Promise<number>,
): Promise<void> {
  const deadline = AbortSignal.timeout(readyWithin_ms)
  while (!deadline.aborted) {
    // A program that could not be started rejects here; one that ended early cannot answer any more.
    if (endedEarly()) {
      throw new CliError(
        'unreachable',
        'program_ended',
        `${words.join(' ')} ended with ${await ending} before ${url} answered.`,
        'Give the command that serves the page.',
      )
    }
    const isThere = await fetch(url, { signal: AbortSignal.any([deadline, AbortSignal.timeout(5_000)]) }).then(
      ({ body }) => body?.cancel().then(() => true) ?? true,
      () => false,
    )
    if (isThere) return
    await Promise.race([sleep(100), ending])
  }
  throw new CliError(
    'unreachable',
    'page_unreachable',
    `${url} did not answer within ${readyWithin_ms / 1_000} s.`,
    'Is it the address that the command serves?',
  )
}
