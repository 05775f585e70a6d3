/** The tail over the whole terminal: the feed goes into the store, keys become deeds. */

import { openUrl } from '../cli/process/open-url.ts'
import { CliError } from '../cli/run/errors.ts'
import type { Session } from '../cli/run/session.ts'
import type { Client } from '../client/client.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import { type FeedMessage, type FeedOptions, followBeacons, type TailBeacon } from './feed.ts'
import type { TailFilter } from './filter.ts'
import type { Wish } from './keys.ts'
import { selectedBeacon, startState } from './model.ts'
import { replayBeacon } from './replay.ts'
import { createTailStore, type TailStore } from './store.ts'

export async function runScreen(session: Session, feed: FeedOptions, filter: TailFilter): Promise<number> {
  const { host, out } = session
  // 170 MB under 2 000 beacons a second instead of 220, and no slower: npm run bench:tail.
  host.keepHeapSmall()
  const end = new AbortController()
  const stop = () => end.abort(session.signal.reason)
  session.signal.addEventListener('abort', stop, { once: true })
  const connect = async () => {
    watch.client = await feed.connect()
    return watch.client
  }
  const messages = followBeacons({ ...feed, connect, signal: end.signal })
  const store = createTailStore(startState(filter, host.now()), host.now)
  const watch: Watch = { session, store, client: session.client(), info: null, signal: end.signal }
  try {
    // What the first connection fails with is told before the terminal is taken.
    const { value: first } = await messages.next()
    hear(watch, first as FeedMessage)
    const { showBeaconsTail } = await import('./ui/show-beacons-tail.tsx')
    const pumping = pump(watch, messages).catch((error: unknown) => end.abort(error))
    await showBeaconsTail(
      {
        store,
        base_url: () => watch.info?.url ?? session.settings.base_url,
        style: out.style,
        onWish: (wish) => (wish.type === 'quit' ? end.abort(quit) : void grant(watch, wish)),
        onInterrupt: () => end.abort(new CliError('interrupted', 'interrupted', 'Interrupted by SIGINT.')),
      },
      end.signal,
    )
    await pumping
  } finally {
    store.close()
  }
  if (end.signal.reason !== quit) throw end.signal.reason
  return 0
}

const quit = Symbol('quit')

/** What the deeds work with. */
interface Watch {
  session: Session
  store: TailStore
  /** Of the connection as it is now. */
  client: Client
  info: SandboxInfo | null
  signal: AbortSignal
}

async function pump(watch: Watch, messages: AsyncGenerator<FeedMessage>): Promise<void> {
  for await (const message of messages) hear(watch, message)
}

function hear(watch: Watch, message: FeedMessage): void {
  if (message.kind === 'connected') watch.info = message.info
  watch.store.take(message)
}

async function grant(watch: Watch, wish: Exclude<Wish, { type: 'quit' }>): Promise<void> {
  const { store } = watch
  try {
    if (wish.type === 'inspector') await openInspector(watch)
    else if (wish.type === 'replay') await replay(watch)
    else {
      store.dispatch(wish)
      const { screen } = store.state()
      if (wish.type === 'details' && screen.name === 'details' && screen.slot.status === 'loading') {
        await loadSlot(watch, screen.beacon)
      }
    }
  } catch (error) {
    if (!watch.signal.aborted) store.dispatch({ type: 'notice', text: messageOf(error) })
  }
}

async function openInspector({ session, store, info }: Watch): Promise<void> {
  const url = info?.inspector_url ?? session.settings.base_url
  const isOpen = await openUrl(session.host, url)
  store.dispatch({ type: 'notice', text: isOpen ? `Opened ${url}` : `No browser here. Open ${url}` })
}

async function replay({ store, client, signal }: Watch): Promise<void> {
  const beacon = selectedBeacon(store.state())
  if (beacon === null) return store.dispatch({ type: 'notice', text: 'There is no beacon to send again.' })
  store.dispatch({ type: 'notice', text: 'Sending it again.' })
  store.dispatch({ type: 'notice', text: await replayBeacon(beacon, client, signal) })
}

async function loadSlot({ store, client, signal }: Watch, { slot_id }: TailBeacon): Promise<void> {
  if (slot_id === null) return
  try {
    const detail = await client.placements.explain({ params: { slot_id } }, { signal })
    store.dispatch({ type: 'answer', slot_id, slot: { status: 'there', detail } })
  } catch (error) {
    signal.throwIfAborted()
    store.dispatch({ type: 'answer', slot_id, slot: { status: 'failed', reason: messageOf(error) } })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
