import { acceptHints, acceptMeanings } from '#contract/error-codes.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { ListedRequest } from '#contract/resources/requests.ts'
import { isObject, parseJson, valueAt } from '#foundation/json.ts'
import { useResource } from '../../data/resource.ts'
import { Json } from '../../parts/Json.tsx'
import { listMarks } from '../../parts/Message.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { StatusChip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { dateAndTime, duration } from '../../parts/values/times.ts'
import { VerdictChips } from './BeaconTable.tsx'

/** Returns when an unreadable beacon arrived, from the last part of its route; null when that is an identifier. */
function timeOfRoute(id: string): number | null {
  return /^@\d{1,15}$/.test(id) ? Number(id.slice(1)) : null
}

/** One beacon as received, and its duplicates: the body, with the refused fields marked. */
export function BeaconPage({ id }: { id: string }) {
  const at_ms = timeOfRoute(id)
  const query =
    at_ms === null ? { beacon_id: id, limit: 50 } : { since: String(at_ms), verdict: 'rejected' as const, limit: 1000 }
  const resource = useResource('beacons.list', { query }, ({ type, data }) => {
    return type.startsWith('beacon.') && data.beacon_id === id
  })
  return (
    <Page
      title={at_ms === null ? id : 'Beacon without an ID'}
      {...(at_ms === null ? { copies: 'beacon_id' } : {})}
      lead={at_ms === null ? 'Beacon, as received' : `Received ${dateAndTime(at_ms)}: no beacon_id could be read`}
    >
      <Shown resource={resource}>
        {({ items }) => {
          const found = at_ms === null ? items : items.filter((item) => item.received_at_ms === at_ms)
          if (found.length === 0) return <Empty icon="beacons" title="No such beacon" />
          return found.map((item) => <Beacon key={`${item.received_at_ms} ${item.verdict}`} item={item} />)
        }}
      </Shown>
    </Page>
  )
}

function Beacon({ item }: { item: BeaconItem }) {
  const { received_at_ms, occurred_at_ms } = item
  return (
    <div className="columns beacon">
      <div className="column">
        <Received item={item} />
      </div>
      <div className="column">
        <Panel title={item.event ?? 'Unreadable'}>
          <p className="bar wrapping">
            <VerdictChips beacon={item} />
          </p>
          <KeyValues
            pairs={[
              ...shortfallPairs(item),
              ['Received', dateAndTime(received_at_ms)],
              [
                'Happened',
                occurred_at_ms === null
                  ? null
                  : `${dateAndTime(occurred_at_ms)}, ${duration(Math.abs(received_at_ms - occurred_at_ms))} ${occurred_at_ms > received_at_ms ? 'later' : 'before'}`,
              ],
              ['Format', item.format],
              ['Slot', <Id key="slot" kind="placement" id={item.slot_id} />],
              ['Session', <Id key="session" kind="session" id={item.session_id} />],
              ['Project', <Id key="project" kind="project" id={item.client_id} />],
            ]}
          />
        </Panel>
      </div>
    </div>
  )
}

/** Why an accepted beacon does not count, and what to do. For a refused beacon, the response below does. */
function shortfallPairs({ reason_code: code }: BeaconItem): [name: string, value: string][] {
  if (code === 'OK' || !isAcceptCode(code)) return []
  return [
    ['Not counted', acceptMeanings[code]],
    ['Fix', acceptHints[code]],
  ]
}

function isAcceptCode(code: string): code is keyof typeof acceptMeanings {
  return Object.hasOwn(acceptMeanings, code)
}

/** The journal exchange that delivered it. */
function Received({ item }: { item: BeaconItem }) {
  const { received_at_ms } = item
  const exchanges = useResource('requests.list', {
    query: {
      path: '/v1/beacons',
      method: 'POST',
      since: String(received_at_ms),
      until: String(received_at_ms),
      details: 'true',
      limit: 50,
    },
  })
  return (
    <Shown resource={exchanges}>
      {({ items }) => {
        const own = items.filter((exchange) => deliversBeacon(exchange, item))
        if (own.length === 0) {
          return (
            <Panel title="Body">
              <p className="soft">
                The request is no longer in the journal, which is limited in size and emptied by a reset.
              </p>
            </Panel>
          )
        }
        return own.map((exchange) => <Body key={exchange.request_id} exchange={exchange} />)
      }}
    </Shown>
  )
}

function deliversBeacon({ request_body, reason_code }: ListedRequest, item: BeaconItem): boolean {
  if (item.beacon_id === null) return reason_code === item.reason_code
  const body = parseJson(request_body ?? '')
  return isObject(body) && body.beacon_id === item.beacon_id
}

function Body({ exchange }: { exchange: ListedRequest }) {
  const { request_id, status, request_body, response_body, request_headers } = exchange
  const body = parseJson(request_body ?? '')
  const response = parseJson(response_body ?? '')
  const marks = listMarks(response)
  const missing = Object.keys(marks).filter((path) => valueAt(body, path) === undefined)
  return (
    <>
      <Panel
        title="Body"
        actions={
          <>
            <StatusChip status={status} />
            <Id kind="request" id={request_id} />
          </>
        }
      >
        {missing.map((path) => (
          <p key={path} className="json-mark">
            <code>{path}</code> {marks[path]}
          </p>
        ))}
        {body === undefined ? (
          <pre className="scroller raw">{request_body ?? 'The body was not recorded.'}</pre>
        ) : (
          <Json value={body} endpoint="beacons.send" part="body" marks={marks} label="the body" />
        )}
      </Panel>
      <Panel title="Response">
        <Json value={response ?? response_body} endpoint="beacons.send" label="the response" />
      </Panel>
      {request_headers !== undefined && (
        <Panel title="Request headers">
          <KeyValues pairs={Object.entries(request_headers)} />
        </Panel>
      )}
    </>
  )
}
