import { callEndpoint, emptyNote, endpointCommand, printPage } from '../../cli/endpoint/endpoint-command.ts'
import { endpointOptions, flagValues } from '../../cli/endpoint/input.ts'
import { type Column, paintDim, paintReason, paintStatus } from '../../cli/output/table.ts'
import type { Noun } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import { nextCursor } from '../../client/client.ts'
import type { RequestItem } from '../../contract/control/requests.ts'
import { emptyJournal, listOptions, listQuery, matchOf, matchOptions } from './match.ts'
import { replay } from './replay.ts'
import { show } from './show.ts'
import { tail } from './tail.ts'
import { count, nearest, verify } from './verify.ts'

const columns: readonly Column[] = [
  { name: 'when', field: 'at_ms', kind: 'time', paint: paintDim },
  { name: 'method' },
  { name: 'path', least: 20 },
  { name: 'status', paint: paintStatus },
  { name: 'reason', field: 'reason_code', rank: 2, paint: paintReason },
  { name: 'ms', field: 'duration_ms', kind: 'ms', rank: 3, paint: paintDim },
  { name: 'request', field: 'request_id', kind: 'id' },
]
const defaultLimit = 50
const filters = listOptions()
const { body } = endpointOptions('requests.find')
const pageOptions = new Map([...body].filter(([name]) => name === 'limit' || name === 'cursor'))

const list = endpointCommand('requests.list', {
  details: 'Continues through the journal until the page is full or the journal ends.',
  options: [...filters.values()],
  columns,
  empty: emptyJournal,
  examples: ['requests list', 'requests list --status 400 --since 10m -o jsonl'],
  run: async (session, input) =>
    printFullPage(session, 'requests.list', 'query', await listQuery(session, filters, input)),
})

const find = endpointCommand('requests.find', {
  options: [...matchOptions(), ...pageOptions.values()],
  columns,
  empty: emptyJournal,
  examples: [
    'requests find --path /v1/placements --body overrides.allowed_formats.0=banner',
    'requests find --header content-type=application/json --limit 5 -o jsonl',
  ],
  run: async (session, input) => {
    const match = { ...(await matchOf(session, input)), ...flagValues(pageOptions, input.options) }
    return printFullPage(session, 'requests.find', 'body', match)
  },
})

export const requests: Noun = {
  summary: 'Read and check the request journal of the sandbox, and replay its requests',
  commands: [list, show, find, count, nearest, tail, replay, verify],
}

/** Prints one page, put together from several responses: each covers a limited part of the journal. */
async function printFullPage(
  session: Session,
  id: 'requests.list' | 'requests.find',
  place: 'query' | 'body',
  wanted: object & { limit?: number },
): Promise<number> {
  const { limit = defaultLimit } = wanted
  const items: RequestItem[] = []
  let input: object = wanted
  for (;;) {
    const { data } = await callEndpoint(session, id, { [place]: input })
    items.push(...data.items)
    const next_cursor = nextCursor(data, (input as { cursor?: string }).cursor)
    if (next_cursor === null || items.length >= limit) {
      const note = items.length > 0 ? '' : emptyNote(session, wanted, emptyJournal)
      printPage(session, { items, next_cursor }, columns, note)
      return 0
    }
    input = { ...wanted, limit: limit - items.length, cursor: next_cursor }
  }
}
