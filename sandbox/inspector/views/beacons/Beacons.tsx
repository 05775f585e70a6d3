/**
 * Beacons as they arrive, how far the placements of each format got, the beacons of a query or a slot, and the page of
 * one beacon. One file of more than 400 lines, since all of them show the same columns and verdicts.
 */
import { Link, useSearchParams } from 'wouter'
import { acceptHints, acceptMeanings } from '#contract/error-codes.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { ListedRequest } from '#contract/resources/requests.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useLoaded, useResource } from '../../data/resource.ts'
import { LastMinute, type Rate } from '../../parts/Chart.tsx'
import { Json, listMarks } from '../../parts/Code.tsx'
import {
  type Column,
  idColumn,
  LiveTable,
  type LiveTableProps,
  type Table,
  timeColumn,
} from '../../parts/DataTable.tsx'
import { buildListAddress, Figure, type Filters } from '../../parts/Figures.tsx'
import { createChoice, type ListFilter, ListPage, onDemand, projectFilter, sinceFilter } from '../../parts/ListPage.tsx'
import { Empty, KeyValues, Page, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, dateAndTime, detectKind, duration, Id, lag, routeTo, StatusChip, Time } from '../../parts/Values.tsx'

const verdictRate = (name: string, color: string, verdict: string): Rate => ({
  name,
  color,
  isCounted: ({ type }) => type === `beacon.${verdict}`,
  list: 'beacons',
  filters: { verdict },
})

const rates: readonly Rate[] = [
  verdictRate('Accepted', '--good', 'accepted'),
  verdictRate('Duplicate', '--warn', 'duplicate'),
  verdictRate('Rejected', '--bad', 'rejected'),
]

const events = ['render', 'visible', 'click', 'play_started', 'play_completed', 'completion', 'heartbeat']

const filters: readonly ListFilter[] = [
  { name: 'q', label: 'Slot, session or beacon', kind: 'text', isSearch: true },
  createChoice('verdict', 'Verdict', ['accepted', 'duplicate', 'rejected']),
  createChoice('event', 'Event', events),
  createChoice('format', 'Format', ['banner', 'clip', 'native']),
  createChoice('reason', 'Reason', Object.keys(acceptMeanings)),
  createChoice('billed', 'Billed', [
    ['true', 'yes'],
    ['false', 'no'],
  ]),
  projectFilter,
  sinceFilter,
  onDemand('metric', 'Metric'),
  onDemand('gross_cpm', 'Price CPM'),
  onDemand('currency', 'Currency'),
  onDemand('session_id', 'Session'),
  onDemand('until', 'Until'),
]

export function BeaconsPage() {
  const [params] = useSearchParams()
  const text = params.get('q') ?? ''
  const search = useLoaded(text, () => resolveSearch(text))
  return (
    <ListPage
      title="Beacons"
      filters={filters}
      isPausable
      noun="beacon"
      empty={
        <Empty icon="beacons" title="No beacons yet">
          A page sends them when it shows a frame: open the demo host, or <code>svc beacons send</code>.
        </Empty>
      }
      above={({ client_id, since, session_id }) => (
        <>
          <LastMinute rates={rates} />
          <FormatFunnel query={{ client_id, since, session_id: session_id ?? search.state.data?.session_id }} />
        </>
      )}
    >
      {({ q, ...rest }, listed) => (
        <Shown resource={search}>{(found) => <BeaconTable query={{ ...rest, ...found }} {...listed} />}</Shown>
      )}
    </ListPage>
  )
}

interface BeaconSearch {
  slot_id?: string
  beacon_id?: string
  session_id?: string
}

/**
 * Resolves to the filter of a search text: a slot by its form, a beacon if there is one, else a session. Both have
 * identifiers of any form.
 */
async function resolveSearch(text: string): Promise<BeaconSearch> {
  if (text === '') return {}
  if (detectKind(text) === 'placement') return { slot_id: text }
  const { items } = await call('beacons.list', { query: { beacon_id: text, limit: 1 } })
  return items.length > 0 ? { beacon_id: text } : { session_id: text }
}

const steps = ['decided', 'framed', 'rendered', 'visible', 'billable'] as const

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'frame.loaded' || type === 'beacon.accepted'

interface FunnelQuery {
  client_id?: string | undefined
  session_id?: string | undefined
  since?: string | undefined
}

/**
 * How far the placements of each format got: decided, framed, rendered, visible, billable. The sandbox counts the
 * newest 1,000 placements of a query: if there are older ones, the heading says so.
 */
function FormatFunnel({ query }: { query: FunnelQuery }) {
  const { state } = useResource('placements.funnel', { query }, isAffected)
  if (state.status !== 'ready' || state.data.fills === 0) return null
  const { formats, placements, is_complete, oldest_slot_id } = state.data
  const counted = { ...query, from_slot_id: is_complete ? null : oldest_slot_id }
  const stepFilters = (step: (typeof steps)[number], format: string): Filters => ({
    ...counted,
    format,
    reached: step === 'decided' ? null : step,
  })
  return (
    <>
      <p className="label soft funnel-range">
        {!is_complete && 'Newest '}
        <Figure count={placements} list="placements" filters={counted} />{' '}
        {placements === 1 ? 'placement' : 'placements'}
        {query.client_id !== undefined && ` in ${query.client_id}`}
        {query.session_id !== undefined && ` in session ${query.session_id}`}
        {query.since !== undefined && ` in the last ${query.since}`}
        {!is_complete && '. Older ones are not counted: filter by project, session or time.'}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it scrolls, which the keyboard must reach */}
      <section className="format-funnels" aria-label="Funnel by format" tabIndex={0}>
        {formats.map((format) => (
          <article key={format.format} className="panel format-funnel">
            <h2 className="bar spread">
              {format.format}
              <span className="faint tiny">
                <Figure count={format.decided} list="placements" filters={stepFilters('decided', format.format)} />{' '}
                {format.decided === 1 ? 'fill' : 'fills'}
              </span>
            </h2>
            <dl>
              {steps.map((step) => (
                <div key={step} data-step={step}>
                  <dt className="soft">{step}</dt>
                  <dd className="funnel-track">
                    {format[step] > 0 && (
                      <span className="funnel-bar" style={{ width: `${(100 * format[step]) / format.decided}%` }} />
                    )}
                  </dd>
                  <dd className="number">
                    <Figure count={format[step]} list="placements" filters={stepFilters(step, format.format)} />
                  </dd>
                </div>
              ))}
            </dl>
          </article>
        ))}
      </section>
    </>
  )
}

const columns: readonly Column<BeaconItem>[] = [
  {
    id: 'event',
    header: 'Event',
    width: 'minmax(96px, 0.5fr)',
    isNarrow: true,
    cell: (beacon) => (
      <Link className="plain-link" href={routeOfBeacon(beacon)}>
        {beacon.event ?? 'unreadable'}
      </Link>
    ),
  },
  {
    id: 'verdict',
    header: 'Verdict',
    // `accepted` and `bills viewable_impression` fit, on a phone in two lines.
    width: 'minmax(min(256px, 34vw), 2fr)',
    isNarrow: true,
    cell: (beacon) => (
      <span className="bar">
        <VerdictChips beacon={beacon} />
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '48px' },
  idColumn('slot_id', 'Slot', 'placement', 'minmax(136px, 0.5fr)'),
  { ...idColumn('session_id', 'Session', 'session', 'minmax(72px, 0.9fr)'), isWide: true },
  {
    id: 'lag',
    header: 'Sent after',
    width: '84px',
    isNumber: true,
    cell: ({ occurred_at_ms, received_at_ms }) =>
      occurred_at_ms === null ? null : received_at_ms < occurred_at_ms ? (
        <span title="The beacon states a time after its arrival: the clock of its page is ahead of the sandbox clock.">
          {lag(received_at_ms - occurred_at_ms)}
        </span>
      ) : (
        lag(received_at_ms - occurred_at_ms)
      ),
  },
  timeColumn('received_at_ms'),
]

const table: Table<BeaconItem> = {
  id: 'beacons.list',
  label: 'Beacons',
  columns,
  // A duplicate has the beacon_id of another, and several may arrive in the same millisecond.
  getKey: ({ slot_id, beacon_id, verdict, received_at_ms, event }) =>
    `${received_at_ms} ${verdict} ${event} ${slot_id} ${beacon_id}`,
  getRoute: routeOfBeacon,
  isAffected: ({ type }) => type.startsWith('beacon.'),
}

/** Beacons as a live table by a query of beacons.list. */
export function BeaconTable(props: Omit<LiveTableProps<BeaconItem>, 'table'>) {
  return <LiveTable table={table} {...props} />
}

interface BeaconListProps {
  beacons: readonly BeaconItem[]
  /** Times are shown as spans after this one; default: the time of day. */
  since_ms?: number
}

/** A few beacons in their order. */
export function BeaconList({ beacons, since_ms }: BeaconListProps) {
  return (
    <ol className="event-list">
      {beacons.map((beacon, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: beacons are only added, and a duplicate has the id of another
        <li key={index} className="event-row">
          <Time at_ms={beacon.received_at_ms} {...(since_ms === undefined ? {} : { since_ms })} />
          <span className="bar said">
            <b>{beacon.event ?? 'unreadable'}</b>
            <VerdictChips beacon={beacon} />
          </span>
          <Link className="link" href={routeOfBeacon(beacon)}>
            Body
          </Link>
        </li>
      ))}
    </ol>
  )
}

type Judged = Pick<BeaconItem, 'verdict' | 'reason_code' | 'would_bill' | 'metric'>

/** Whether a beacon was accepted, why not, and what it would bill. */
export function VerdictChips({ beacon: { verdict, reason_code, would_bill, metric } }: { beacon: Judged }) {
  return (
    <>
      <Chip>{verdict}</Chip>
      {reason_code !== 'OK' && reason_code !== 'DUPLICATE' && (
        <Link className="chip-link" href={buildListAddress('beacons', { reason: reason_code })}>
          <Chip tone={verdict === 'rejected' ? 'bad' : 'warn'}>{reason_code}</Chip>
        </Link>
      )}
      {would_bill && <Chip tone="money">{`bills ${metric ?? ''}`}</Chip>}
    </>
  )
}

/**
 * Returns the page of a beacon. A beacon whose body could not be read has no identifier: it is found by its time of
 * arrival.
 */
function routeOfBeacon({ beacon_id, received_at_ms }: BeaconItem): string {
  return routeTo('beacon', beacon_id ?? `@${received_at_ms}`)
}

/** Returns when an unreadable beacon arrived, from the last part of its route; null when that is an identifier. */
function timeOfRoute(id: string): number | null {
  return /^@\d{1,15}$/.test(id) ? Number(id.slice(1)) : null
}

/** One beacon as received, and its duplicates: the body, with the refused fields marked. */
export function BeaconPage({ id }: { id: string }) {
  const at_ms = timeOfRoute(id)
  const query =
    at_ms === null ? { beacon_id: id, limit: 50 } : { since: String(at_ms), verdict: 'rejected' as const, limit: 1_000 }
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
  const missing = Object.keys(marks).filter((path) => !hasPath(body, path))
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

function hasPath(value: unknown, path: string): boolean {
  let part = value
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null || !(name in part)) return false
    part = (part as Record<string, unknown>)[name]
  }
  return true
}
