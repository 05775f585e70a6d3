/** One beacon with what was received, and with its duplicates: the body, with the fields that were refused marked. */
import { Fragment } from 'react'
import type { BeaconItem } from '../../../../src/contract/control/beacons.ts'
import type { ListedRequest } from '../../../../src/contract/control/requests.ts'
import { isObject, parseJson } from '../../../../src/foundation/json.ts'
import { useResource } from '../../data/resource.ts'
import { Json, marksOf } from '../../parts/Code.tsx'
import { KeyValues, Page, Panel } from '../../parts/Page.tsx'
import { Empty, Shown } from '../../parts/States.tsx'
import { Chip, dateAndTime, duration, Id, toneOfStatus } from '../../parts/Values.tsx'
import { timeOfRoute, VerdictChips } from './BeaconsPage.tsx'

export function BeaconPage({ id }: { id: string }) {
  const at_ms = timeOfRoute(id)
  const query = at_ms === null ? { beacon_id: id, limit: 50 } : { since: String(at_ms), limit: 200 }
  const resource = useResource('beacons.list', { query }, ({ type, data }) => {
    return type.startsWith('beacon.') && data.beacon_id === id
  })
  return (
    <Page
      title={at_ms === null ? id : 'A beacon without an identifier'}
      {...(at_ms === null ? { copies: 'beacon_id' } : {})}
      lead={
        at_ms === null ? 'A beacon, as it was received' : `Received ${dateAndTime(at_ms)}: its body could not be read`
      }
    >
      <Shown resource={resource}>
        {({ items }) => {
          const found = at_ms === null ? items : items.filter((item) => item.received_at_ms === at_ms)
          if (found.length === 0) return <Empty icon="beacons" title="There is no such beacon" />
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

/** The exchange of the journal in which it was received. */
function Received({ item }: { item: BeaconItem }) {
  const { received_at_ms, beacon_id } = item
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
        const own = items.filter((exchange) => isOf(exchange, item, beacon_id))
        if (own.length === 0) {
          return (
            <Panel title="Body">
              <p className="soft">The journal no longer has the request: it is limited, and a reset empties it.</p>
            </Panel>
          )
        }
        return own.map((exchange) => (
          <Fragment key={exchange.request_id}>
            <Body exchange={exchange} />
          </Fragment>
        ))
      }}
    </Shown>
  )
}

function isOf({ request_body, reason_code }: ListedRequest, item: BeaconItem, beacon_id: string | null): boolean {
  const body = parseJson(request_body ?? '')
  const sent = isObject(body) ? body.beacon_id : undefined
  if (beacon_id !== null) return sent === beacon_id
  return reason_code === item.reason_code
}

function Body({ exchange }: { exchange: ListedRequest }) {
  const { request_id, status, request_body, response_body, request_headers } = exchange
  const body = parseJson(request_body ?? '')
  const response = parseJson(response_body ?? '')
  const marks = marksOf(response)
  const missing = Object.keys(marks).filter((path) => !hasPath(body, path))
  return (
    <>
      <Panel
        title="Body"
        actions={
          <>
            <Chip tone={toneOfStatus(status)}>{status}</Chip>
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
          <pre className="scroller raw">{request_body ?? 'The journal has no body of it.'}</pre>
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

function hasPath(value: unknown, path: string): boolean {
  let part = value
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null || !(name in part)) return false
    part = (part as Record<string, unknown>)[name]
  }
  return true
}
