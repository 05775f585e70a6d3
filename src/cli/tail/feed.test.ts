import { expect, test } from 'vitest'
import type { Client } from '#client/client.ts'
import { UnreachableError } from '#client/errors.ts'
import type { Since } from '#foundation/duration.ts'
import { type FeedMessage, followBeacons } from './feed.ts'

const start_ms = 1_769_860_800_000

test('a sandbox in memory that was restarted is followed from its beginning, in one growing sequence', async () => {
  const asked: unknown[] = []
  const messages = await messagesOver([
    connection(asked, { pid: 1, database: ':memory:' }, [7, 8]),
    connection(asked, { pid: 2, database: ':memory:' }, [1, 2]),
  ])
  expect(asked).toEqual([undefined, 0])
  expect(messages).toEqual(['connected', 7, 8, 'lost', 'connected again, afresh', 9, 10])
})

test('a database that outlives its process is followed from the last event, even after a failed attempt', async () => {
  const asked: unknown[] = []
  const messages = await messagesOver([
    connection(asked, { pid: 1, database: '/tmp/a.db' }, [7, 8]),
    'unreachable',
    connection(asked, { pid: 2, database: '/tmp/a.db' }, [9]),
  ])
  expect(asked).toEqual([undefined, 8])
  expect(messages).toEqual(['connected', 7, 8, 'lost', 'connected again', 9])
})

test('dropped beacons are reported after a reconnect, but not those from before `since`', async () => {
  const again = await messagesOver([
    connection([], { pid: 1, database: '/tmp/a.db' }, [7]),
    connection([], { pid: 2, database: '/tmp/a.db' }, [9, 12], { dropped: 9 }),
  ])
  expect(again).toEqual(['connected', 7, 'lost', 'connected again', 'gap', 12])
  const inTime = connection([], { pid: 1, database: '/tmp/a.db' }, [3, 4, 5], { dropped: 3, old: 4 })
  expect(await messagesOver([inTime], { span_ms: 1_000 })).toEqual(['connected', 5])
  const tooLate = connection([], { pid: 1, database: '/tmp/a.db' }, [3, 4], { dropped: 3 })
  expect(await messagesOver([tooLate], { span_ms: 1_000 })).toEqual(['connected', 'gap', 4])
})

test('a first connection that fails is an error', async () => {
  await expect(messagesOver(['unreachable'])).rejects.toThrow('cannot be reached')
})

test('it is connected when the stream is open: no beacon after that is missed', async () => {
  const asked: unknown[] = []
  const end = new AbortController()
  const client = connection(asked, { pid: 1, database: '/tmp/a.db' }, [7])
  const feed = followBeacons({ connect: async () => client, query: {}, since: null, signal: end.signal })
  expect((await feed.next()).value).toMatchObject({ kind: 'connected' })
  expect(asked).toEqual([undefined])
  expect((await feed.next()).value).toMatchObject({ kind: 'item', item: { seq: 7 } })
  await feed.return(undefined as never)
})

/** Returns the messages of a feed over these connections, until the last one has ended. */
async function messagesOver(
  connections: (Client | 'unreachable')[],
  since: Since | null = null,
): Promise<(string | number)[]> {
  const end = new AbortController()
  const names: (string | number)[] = []
  const feed = followBeacons({
    async connect() {
      const next = connections.shift()
      if (next === 'unreachable') throw new UnreachableError('http://127.0.0.1:1', 1, new Error('refused'))
      return next as Client
    },
    query: {},
    since,
    signal: end.signal,
  })
  for await (const message of feed) {
    if (message.kind === 'lost' && connections.length === 0) break
    names.push(describeMessage(message))
  }
  return names
}

function describeMessage(message: FeedMessage): string | number {
  if (message.kind === 'item') return message.item.seq
  if (message.kind !== 'connected' || !message.is_again) return message.kind
  return message.is_new_history ? 'connected again, afresh' : 'connected again'
}

/** A client whose stream ends after these events. One may report dropped events, one be old. `asked` collects `since_seq`. */
function connection(
  asked: unknown[],
  info: { pid: number; database: string },
  seqs: number[],
  { dropped, old }: { dropped?: number; old?: number } = {},
): Client {
  const client = {
    sandbox: { info: async () => ({ ...info, clock: { now_ms: start_ms, offset_ms: 0, frozen: false } }) },
    events: {
      async *stream({ query }: { query: { since_seq?: number } }) {
        asked.push(query.since_seq)
        for (const seq of seqs) {
          const type = seq === dropped ? 'events.dropped' : 'beacon.accepted'
          yield {
            seq,
            type,
            at_ms: seq === old ? start_ms - 5_000 : start_ms,
            client_id: null,
            slot_id: null,
            data: item,
          }
        }
      },
    },
  }
  return client as unknown as Client
}

const item = {
  beacon_id: 'beacon_1',
  slot_id: 'slot_00000000001',
  client_id: 'proj_demo',
  session_id: null,
  format: 'banner',
  event: 'render',
  verdict: 'accepted',
  reason_code: 'OK',
  would_bill: false,
  metric: null,
  occurred_at_ms: start_ms,
  received_at_ms: start_ms,
  metadata: null,
}
