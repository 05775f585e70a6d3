/**
 * Actions in the sandbox, each a call of its control plane. The first one asks for a grant, which the user confirms in the
 * inspector by comparing a code, and waits for it. The grant is kept in this closure alone: no script of the page can read it.
 */
import type {
  ConsoleAction,
  ConsoleActResult,
  ConsoleAsk,
  ConsoleClaim,
  ConsoleState,
} from '#contract/resources/sandbox/console.ts'
import { isObject } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { ConsolePage } from '#renderer/host/console-page.ts'
import { post } from './channel.ts'

const claimIntervalMs = 1_000

type GrantState = { status: 'none' } | { status: 'asked'; code: string; confirm_url: string } | { status: 'confirmed' }

/** What was said last about an action: a result or a problem. */
interface Outcome {
  isDone: boolean
  text: string
}

export interface Actions {
  readonly grant: GrantState
  /** The action under way, or null. */
  readonly busy: ConsoleAction | null
  readonly outcome: Outcome | null
  /** What is in force in the sandbox; null until an action has said it. */
  readonly force: ConsoleState | null
  /** Runs an action, once a grant is confirmed. Never rejects. */
  run(action: ConsoleAction): Promise<void>
  close(): void
}

/** `onChange` is called whenever a part of the state has changed. */
export function openActions(page: ConsolePage, onChange: () => void): Actions {
  const over = new AbortController()
  const grant = openGrant(page, over.signal, onChange)
  let force: ConsoleState | null = null
  let busy: ConsoleAction | null = null
  let outcome: Outcome | null = null

  async function run(action: ConsoleAction): Promise<void> {
    if (busy !== null) return
    busy = action
    outcome = null
    onChange()
    try {
      const { done, state } = await grant.act(action)
      force = state
      outcome = { isDone: true, text: done }
    } catch (problem) {
      outcome = { isDone: false, text: problem instanceof Error ? problem.message : String(problem) }
    }
    busy = null
    if (!over.signal.aborted) onChange()
  }

  return {
    get grant() {
      return grant.state
    },
    get busy() {
      return busy
    },
    get outcome() {
      return outcome
    },
    get force() {
      return force
    },
    run,
    close: () => over.abort(),
  }
}

function openGrant(page: ConsolePage, signal: AbortSignal, onChange: () => void) {
  let state: GrantState = { status: 'none' }
  let token: string | null = null

  return {
    get state(): GrantState {
      return state
    },
    act: async (action: ConsoleAction): Promise<ConsoleActResult> => {
      token ??= await ask()
      return send('act', action)
    },
  }

  async function ask(): Promise<string> {
    const { grant_id, secret, code, confirm_url } = await send<ConsoleAsk>('ask', {})
    if (!isHttpUrl(confirm_url)) throw new Error('The sandbox gave no page to confirm at.')
    state = { status: 'asked', code, confirm_url }
    onChange()
    try {
      for (;;) {
        await pause(claimIntervalMs, signal)
        const { status, token: given } = await send<ConsoleClaim>('claim', { grant_id, secret })
        if (status === 'confirmed' && given !== undefined) {
          state = { status: 'confirmed' }
          return given
        }
        if (status !== 'waiting') throw new Error(findEntry(endings, status) ?? endings.expired)
      }
    } finally {
      if (state.status === 'asked') state = { status: 'none' }
    }
  }

  /** A grant that has ended is asked for again. */
  async function send<Result>(route: string, body: object): Promise<Result> {
    const { status, fields } = await postJson(`${page.base_url}/_sandbox/console/page/${route}`, {
      body,
      token,
      signal,
    })
    if (status < 300) return fields as Result
    if (status === 401 || status === 403) {
      token = null
      state = { status: 'none' }
    }
    throw new Error(typeof fields.message === 'string' ? fields.message : `The sandbox refused it: ${status}.`)
  }
}

const endings = {
  refused: 'It was refused in the inspector.',
  expired: 'Nobody confirmed it in time. Press the button again.',
}

/** Resolves with any response. @throws Error without one */
async function postJson(
  url: string,
  given: Parameters<typeof post>[1],
): Promise<{ status: number; fields: Record<string, unknown> }> {
  const response = await post(url, given).catch(() => null)
  if (response === null) throw new Error('The sandbox does not answer.')
  const received: unknown = await response.json().catch(() => null)
  return { status: response.status, fields: isObject(received) ? received : {} }
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text)
}

/** Resolves after `ms`. Rejects when the console is closed. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('The console was closed.'))
    })
  })
}
