import { expect, test } from 'vitest'
import type { Client } from '../client/client.ts'
import { UnreachableError } from '../client/errors.ts'
import { type FeedMessage, followBeacons, parseSince, type Since } from './feed.ts'

const start_ms = 1_769_860_800_000

test('a sandbox in memory that was restarted is followed from its beginning, in one growing sequence', async () => {
  const asked: unknown[] = []
  const messages = await heard([
    connection(asked, { pid: 1, database: ':memory:' }, [7, 8]),
    connection(asked, { pid: 2, database: ':memory:' }, [1, 2]),
  ])
  expect(asked).toEqual([undefined, 0])
  expect(messages).toEqual(['connected', 7, 8, 'lost', 'connected again, afresh', 9, 10])
})

test('a database that outlives its process is followed where it was left, a failed try between', async () => {
  const asked: unknown[] = []
  const messages = await heard([
    connection(asked, { pid: 1, database: '/tmp/a.db' }, [7, 8]),
    'unreachable',
    connection(asked, { pid: 2, database: '/tmp/a.db' }, [9]),
  ])
  expect(asked).toEqual([undefined, 8])
  expect(messages).toEqual(['connected', 7, 8, 'lost', 'connected again', 9])
})

test('beacons that are gone before it comes back are told, and those older than what was asked for are not', async () => {
  const again = await heard([
    connection([], { pid: 1, database: '/tmp/a.db' }, [7]),
    connection([], { pid: 2, database: '/tmp/a.db' }, [9, 12], { dropped: 9 }),
  ])
  expect(again).toEqual(['connected', 7, 'lost', 'connected again', 'gap', 12])
  const inTime = connection([], { pid: 1, database: '/tmp/a.db' }, [3, 4, 5], { dropped: 3, old: 4 })
  expect(await heard([inTime], { span_ms: 1_000 })).toEqual(['connected', 5])
  const tooLate = connection([], { pid: 1, database: '/tmp/a.db' }, [3, 4], { dropped: 3 })
  expect(await heard([tooLate], { span_ms: 1_000 })).toEqual(['connected', 'gap', 4])
})

test('nobody there at first is an error', async () => {
  await expect(heard(['unreachable'])).rejects.toThrow('cannot be reached')
})

test('since is a span or an instant', () => {
  expect([parseSince('10m'), parseSince('250ms'), parseSince(String(start_ms))]).toEqual([
    { span_ms: 600_000 },
    { span_ms: 250 },
    { at_ms: start_ms },
  ])
})

/** What a feed tells over these connections, until the last one has told its events. */
async function heard(
  connections: (Client | 'unreachable')[],
  since: Since | null = null,
): Promise<(string | number)[]> {
  const end = new AbortController()
  const told: (string | number)[] = []
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
    told.push(nameOf(message))
  }
  return told
}

function nameOf(message: FeedMessage): string | number {
  if (message.kind === 'beacon') return message.beacon.seq
  if (message.kind !== 'connected' || !message.isAgain) return message.kind
  return message.isNewHistory ? 'connected again, afresh' : 'connected again'
}

/** A client whose stream has these events and ends; one may say what was dropped, one be old. `asked` takes the sequence number that it was begun after. */
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
}
