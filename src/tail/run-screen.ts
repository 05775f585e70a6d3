/** Runs the tail over the whole terminal: the feed updates the store, keys become actions and effects. */
import { openUrl } from '../cli/process/open-url.ts'
import { CliError } from '../cli/run/errors.ts'
import type { Session } from '../cli/run/session.ts'
import { type Client, nextCursor } from '../client/client.ts'
import { ServiceError } from '../client/errors.ts'
import type { ReplayResult, RequestItem } from '../contract/control/requests.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import { BeaconResult } from '../contract/v1/beacons.ts'
import { parseJson } from '../foundation/json.ts'
import { type FeedMessage, type FeedOptions, followBeacons, type TailBeacon } from './feed.ts'
import type { Effect } from './keys.ts'
import { selectedBeacon, startState, type TailAction, type TailFilter } from './model.ts'
import { createTailStore, type TailStore } from './store.ts'

/** Resolves with exit code 0 when the user quits. Throws what the first connection fails with, and interrupts. */
export async function runScreen(session: Session, feed: FeedOptions, filter: TailFilter): Promise<number> {
  const { host, out } = session
  // 170 MB under 2 000 beacons a second instead of 220, and no slower: npm run bench:tail.
  host.keepHeapSmall()
  const end = new AbortController()
  session.signal.addEventListener('abort', () => end.abort(session.signal.reason), { once: true })
  const store = createTailStore(startState(filter, host.now()), host.now)
  const tail: Tail = { session, store, client: session.client(), info: null, signal: end.signal }
  const connect = async () => {
    tail.client = await feed.connect()
    return tail.client
  }
  const messages = followBeacons({ ...feed, connect, signal: end.signal })
  try {
    // A first connection that fails is reported before the terminal is taken over.
    const { value: first } = await messages.next()
    receive(tail, first as FeedMessage)
    const { showBeaconsTail } = await import('./BeaconsTail.tsx')
    const receiving = receiveAll(tail, messages).catch((error: unknown) => end.abort(error))
    await showBeaconsTail(
      {
        store,
        base_url: () => tail.info?.url ?? session.settings.base_url,
        style: out.style,
        onAction: (action) => (action.type === 'quit' ? end.abort(quit) : void perform(tail, action)),
        onInterrupt: () => end.abort(new CliError('interrupted', 'interrupted', 'Interrupted by SIGINT.')),
      },
      end.signal,
    )
    await receiving
  } finally {
    store.close()
  }
  if (end.signal.reason !== quit) throw end.signal.reason
  return 0
}

const quit = Symbol('quit')

/** What actions and effects work with. */
interface Tail {
  session: Session
  store: TailStore
  /** The client of the current connection. */
  client: Client
  info: SandboxInfo | null
  signal: AbortSignal
}

async function receiveAll(tail: Tail, messages: AsyncGenerator<FeedMessage>): Promise<void> {
  for await (const message of messages) receive(tail, message)
}

function receive(tail: Tail, message: FeedMessage): void {
  if (message.kind === 'connected') tail.info = message.info
  tail.store.receive(message)
}

async function perform(tail: Tail, action: TailAction | Exclude<Effect, { type: 'quit' }>): Promise<void> {
  const { store } = tail
  try {
    if (action.type === 'inspector') await openInspector(tail)
    else if (action.type === 'replay') await replaySelected(tail)
    else {
      store.dispatch(action)
      const { screen } = store.state()
      if (action.type === 'details' && screen.name === 'details' && screen.slot.status === 'loading') {
        await loadSlot(tail, screen.beacon)
      }
    }
  } catch (error) {
    if (!tail.signal.aborted) store.dispatch({ type: 'notice', text: messageOf(error) })
  }
}

async function openInspector({ session, store, info }: Tail): Promise<void> {
  const url = info?.inspector_url ?? session.settings.base_url
  const isOpen = await openUrl(session.host, url)
  store.dispatch({ type: 'notice', text: isOpen ? `Opened ${url}` : `No browser here. Open ${url}` })
}

async function loadSlot({ store, client, signal }: Tail, { slot_id }: TailBeacon): Promise<void> {
  if (slot_id === null) return
  try {
    const detail = await client.placements.explain({ params: { slot_id } }, { signal })
    store.dispatch({ type: 'slot', slot_id, slot: { status: 'loaded', detail } })
  } catch (error) {
    signal.throwIfAborted()
    store.dispatch({ type: 'slot', slot_id, slot: { status: 'failed', reason: messageOf(error) } })
  }
}

async function replaySelected({ store, client, signal }: Tail): Promise<void> {
  const beacon = selectedBeacon(store.state())
  if (beacon === null) return store.dispatch({ type: 'notice', text: 'There is no beacon to send again.' })
  store.dispatch({ type: 'notice', text: 'Sending it again.' })
  store.dispatch({ type: 'notice', text: await replay(beacon, client, signal) })
}

/** Has the sandbox replay the request that brought a beacon, as a client that retries. Returns the result as a sentence. */
async function replay(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<string> {
  const request = await requestOf(beacon, client, signal)
  if (request === null) {
    return 'Not sent: the journal no longer has the request of this beacon. svc start --journal-limit keeps more.'
  }
  try {
    const params = { request_id: request.request_id }
    return outcomeOf(await client.requests.replay({ params, body: {} }, { signal }))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason_code !== 'replay_incomplete') throw error
    const names = error.body?.fields.map(({ path }) => path).join(', ')
    return `Not sent: the journal does not keep ${names} of this beacon.`
  }
}

function outcomeOf({ exchange }: ReplayResult): string {
  if (exchange.status === 0) return `Sent again: no response, ${exchange.response_headers['x-sandbox-fault']} broke it.`
  if (exchange.reason_code !== null) return `Sent again: refused with ${exchange.status}, ${exchange.reason_code}.`
  const { data } = BeaconResult.safeParse(parseJson(exchange.response_body ?? ''))
  return `Sent again: ${data?.duplicate === true ? 'duplicate, it was received before' : `accepted, ${data?.reason_code}`}.`
}

/** Returns the request that brought a beacon: received at the same time, and with its identifier where that is known. */
async function requestOf(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<RequestItem | null> {
  const { received_at_ms, beacon_id, slot_id, reason_code, verdict } = beacon
  const isUnread = verdict === 'rejected' && beacon_id === null
  const match = {
    path: '/v1/beacons',
    method: 'POST',
    since: String(received_at_ms),
    until: String(received_at_ms),
    ...(beacon_id === null ? {} : { body: { beacon_id } }),
    ...(isUnread ? { reason: reason_code as NonNullable<RequestItem['reason_code']> } : {}),
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { ...match, ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.requests.find({ body }, { signal })
    const found = page.items.find((item) => item.slot_id === slot_id) ?? page.items[0]
    if (found !== undefined) return found
    cursor = nextCursor(page, cursor)
  }
  return null
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
