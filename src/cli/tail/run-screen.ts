/** Runs the tail over the whole terminal: the feed updates the store, keys become actions and effects. */

import { openUrl } from '#cli/process/open-url.ts'
import type { CommandContext } from '#cli/run/command.ts'
import type { Client } from '#client/client.ts'
import { ServiceError } from '#client/errors.ts'
import type { ReplayResult } from '#contract/resources/requests.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { curlCommand, journaledRequest, redactedParts } from '#foundation/http.ts'
import { readMessage } from '#foundation/system-error.ts'
import { exitCodes } from '#text/cli-error.ts'
import { clipboardControl } from '#text/terminal.ts'
import type { Effect } from './keys.ts'
import { selectedItem, startState, type TailAction, type TailFilter } from './model.ts'
import type { TailItem, TailSource } from './source.ts'
import { createTailStore, type TailMessage, type TailStore } from './store.ts'

/** The source of a tail, and where it starts. */
interface Followed {
  source: TailSource
  filter: TailFilter
  /** Whether items from before the connection come first. */
  has_history: boolean
  /** Returns the client for the next connection: a restarted sandbox may have another address. */
  connect(): Promise<Client>
  follow(connect: () => Promise<Client>, signal: AbortSignal): AsyncGenerator<TailMessage>
}

/** Resolves with exit code 0 when the user quits. Throws the error of the first connection, and interrupts. */
export async function runScreen(context: CommandContext, followed: Followed): Promise<number> {
  const { system, out } = context
  // Throws without a sandbox, before the store is created: its timer would keep the process alive.
  const client = context.client()
  // 170 MB under 2 000 beacons a second instead of 220, and no slower: npm run bench:tail.
  system.keepHeapSmall()
  const end = new AbortController()
  context.signal.addEventListener('abort', () => end.abort(context.signal.reason), { once: true })
  const store = createTailStore(
    startState(followed.source, followed.filter, system.now(), followed.has_history),
    system.now,
  )
  const tail: Tail = {
    context,
    source: followed.source,
    store,
    client,
    info: null,
    signal: end.signal,
  }
  const connect = async () => {
    tail.client = await followed.connect()
    return tail.client
  }
  const messages = followed.follow(connect, end.signal)
  try {
    // A failed first connection is reported before the terminal is taken over.
    const { value: first } = await context.out.progress('Loading', messages.next())
    receive(tail, first as TailMessage)
    const { showTail } = await import('./TailScreen.tsx')
    const receiving = receiveAll(tail, messages).catch((error: unknown) => end.abort(error))
    await showTail(
      {
        store,
        base_url: () => tail.info?.url ?? context.settings.base_url,
        style: out.style,
        onAction: (action) => (action.type === 'quit' ? end.abort(quit) : void perform(tail, action)),
        onInterrupt: () => end.abort(interrupted),
        // The whole process group, as the terminal does for Ctrl-Z. Returns when it has been continued.
        onSuspend: () => void system.signal(0, 'SIGTSTP'),
      },
      end.signal,
    )
    await receiving
  } finally {
    store.close()
  }
  // Ctrl-C needs no message: you pressed it.
  if (end.signal.reason === interrupted) return exitCodes.interrupted.exit_code
  if (end.signal.reason !== quit) throw end.signal.reason
  return 0
}

const quit = Symbol('quit')
const interrupted = Symbol('interrupted')

/** The context of actions and effects. */
interface Tail {
  context: CommandContext
  source: TailSource
  store: TailStore
  /** The client of the current connection. */
  client: Client
  info: SandboxInfo | null
  signal: AbortSignal
}

async function receiveAll(tail: Tail, messages: AsyncGenerator<TailMessage>): Promise<void> {
  for await (const message of messages) receive(tail, message)
}

function receive(tail: Tail, message: TailMessage): void {
  if (message.kind === 'connected') tail.info = message.info
  tail.store.receive(message)
}

async function perform(tail: Tail, action: TailAction | Exclude<Effect, { type: 'quit' }>): Promise<void> {
  const { store } = tail
  try {
    if (action.type === 'inspector') await openInspector(tail)
    else if (action.type === 'replay') await replaySelected(tail)
    else if (action.type === 'copy') await copySelected(tail, action.as)
    else {
      store.dispatch(action)
      const { screen } = store.state()
      if (action.type === 'details' && screen.name === 'details' && screen.slot.status === 'loading') {
        await Promise.all([loadSlot(tail, screen.item), loadRequest(tail, screen.item)])
      } else if (action.type === 'details' && screen.name === 'details') await loadRequest(tail, screen.item)
    }
  } catch (error) {
    if (!tail.signal.aborted) store.dispatch({ type: 'notice', text: errorText(error) })
  }
}

async function openInspector({ context, source, store, info }: Tail): Promise<void> {
  const item = selectedItem(store.state())
  const selected = item === null ? null : source.readPageId(item)
  const inspector = info?.inspector_url ?? context.settings.base_url
  const url = selected === null || info === null ? inspector : new URL(`/_sandbox/id/${selected}`, inspector).href
  const isOpen = await openUrl(context.system, url)
  store.dispatch({ type: 'notice', text: isOpen ? `Opened ${url}` : `No browser here. Open ${url}` })
}

/** The maximum that terminals accept at once. */
const maxCopiedBytes = 74_994

/** Copies through the terminal, which may be on another computer than this process. */
async function copySelected({ context, source, store, client, signal }: Tail, as: 'id' | 'curl'): Promise<void> {
  const notice = (text: string) => store.dispatch({ type: 'notice', text })
  const copy = (text: string, done: string) => {
    const size = Buffer.byteLength(text)
    if (size > maxCopiedBytes) return notice(`Not copied: ${size} bytes are more than a terminal accepts.`)
    context.system.stdout.write(clipboardControl(text))
    notice(done)
  }
  const item = selectedItem(store.state())
  if (item === null) return notice('There is no beacon to copy.')
  const id = source.readId(item)
  if (as === 'id' && id !== null) return copy(id, `Copied ${id}`)
  const request_id = await source.findRequestId(item, client, signal)
  if (request_id === null) return notice(`Not copied: ${noRequest}`)
  if (as === 'id') return copy(request_id, `Copied ${request_id}`)
  const request = journaledRequest(
    await client.requests.show({ params: { request_id } }, { signal }),
    context.settings.base_url,
  )
  const parts = redactedParts(request)
  const todo = parts.length === 0 ? '' : ` Redacted, fill in: ${parts.join(', ')}.`
  copy(curlCommand(request), `Copied the curl command of ${request_id}.${todo}`)
}

const noRequest = 'the journal no longer has the request. svc start --journal-limit keeps more.'

async function loadSlot({ store, client, signal }: Tail, { slot_id }: TailItem): Promise<void> {
  if (slot_id === null) return
  try {
    const detail = await client.placements.explain({ params: { slot_id } }, { signal })
    store.dispatch({ type: 'slot', slot_id, slot: { status: 'loaded', detail } })
  } catch (error) {
    signal.throwIfAborted()
    store.dispatch({ type: 'slot', slot_id, slot: { status: 'failed', reason: errorText(error) } })
  }
}

/** Loads the request: nothing else shows what was wrong with a refused beacon. */
async function loadRequest({ source, store, client, signal }: Tail, item: TailItem): Promise<void> {
  const { seq } = item
  try {
    const request_id = await source.findRequestId(item, client, signal)
    if (request_id === null) return store.dispatch({ type: 'request', seq, request: { status: 'missing' } })
    const detail = await client.requests.show({ params: { request_id } }, { signal })
    store.dispatch({ type: 'request', seq, request: { status: 'loaded', detail } })
  } catch (error) {
    signal.throwIfAborted()
    store.dispatch({ type: 'request', seq, request: { status: 'failed', reason: errorText(error) } })
  }
}

async function replaySelected(tail: Tail): Promise<void> {
  const { store } = tail
  const item = selectedItem(store.state())
  if (item === null) return store.dispatch({ type: 'notice', text: 'There is no beacon to send again.' })
  store.dispatch({ type: 'notice', text: 'Sending it again.' })
  store.dispatch({ type: 'notice', text: await replay(tail, item) })
}

/** Has the sandbox replay the request of an item, like a retrying client. Returns the result as a sentence. */
async function replay({ source, client, signal }: Tail, item: TailItem): Promise<string> {
  const request_id = await source.findRequestId(item, client, signal)
  if (request_id === null) return `Not sent: ${noRequest}`
  try {
    return describeReplay(source, await client.requests.replay({ params: { request_id }, body: {} }, { signal }))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason_code !== 'replay_incomplete') throw error
    const names = error.body?.fields.map(({ path }) => path).join(', ')
    return `Not sent: the journal does not store its ${names}.`
  }
}

function describeReplay(source: TailSource, { exchange }: ReplayResult): string {
  if (exchange.status === 0) return `Sent again: no response, ${exchange.response_headers['x-sandbox-fault']} broke it.`
  if (exchange.reason_code !== null) return `Sent again: refused with ${exchange.status}, ${exchange.reason_code}.`
  return `Sent again: ${source.describeOutcome(exchange)}.`
}

function errorText(error: unknown): string {
  return readMessage(error)
}
