/** The journal: every exchange of the API, filtered by the address, reloaded as requests arrive. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { ListedRequest } from '#contract/resources/requests.ts'
import { isReasonCode } from '../../data/api.ts'
import { type Column, idColumn, timeWidth } from '../../parts/lists/columns.tsx'
import { LiveTable, type Table } from '../../parts/lists/DataTable.tsx'
import { createChoice, type FilterValues, type ListFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Empty } from '../../parts/Shown.tsx'
import { StatusChip } from '../../parts/values/Chip.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'
import { duration } from '../../parts/values/times.ts'
import { SaveHar } from './SaveHar.tsx'

const filters: readonly ListFilter[] = [
  {
    name: 'path',
    label: 'Path',
    kind: 'text',
    placeholder: 'Path, such as /v1/beacons or /v1/*/config',
    isSearch: true,
  },
  createChoice('status_class', 'Status', [
    ['2xx', '2xx success'],
    ['3xx', '3xx redirect'],
    ['4xx', '4xx refused'],
    ['5xx', '5xx failed'],
  ]),
  createChoice('method', 'Method', ['GET', 'POST', 'OPTIONS', 'DELETE']),
  createChoice('key', 'Credential', [
    ['sk_test', 'secret test key'],
    ['sk_live', 'secret live key'],
    ['at', 'activation token'],
    ['bt', 'beacon token'],
  ]),
  createChoice('since', 'Since', [
    ['1m', '1 minute'],
    ['10m', '10 minutes'],
    ['1h', '1 hour'],
    ['1d', '1 day'],
  ]),
  createChoice('foreign', 'Sent by', [['true', 'pages that no project allows']]),
  {
    name: 'reason',
    label: 'Reason code',
    kind: 'text',
    whole: { is: isReasonCode, hint: 'A full code, such as key_unknown' },
  },
  { name: 'session_id', label: 'Session', kind: 'text' },
  {
    name: 'trace_id',
    label: 'Trace',
    kind: 'text',
    whole: { is: (text) => /^[0-9a-f]{32}$/.test(text), hint: 'A full trace id, of 32 hexadecimal digits' },
  },
  { name: 'client_id', label: 'Project', kind: 'text' },
]

/** Returns the query of the filters. A path that has no beginning of one matches any part. */
function toQuery({ path, ...others }: FilterValues): FilterValues {
  if (path === undefined) return others
  return { ...others, path: /^(\/|\*|https?:)/.test(path) ? path : `*${path}*` }
}

/** No event announces a request: the journal is polled for new ones. */
const refreshMs = 1_500

export function RequestList() {
  const [picked, setPicked] = useState<readonly string[]>([])
  const columns = useMemo(() => [createPickColumn(picked, setPicked), ...fields], [picked])
  const table: Table<ListedRequest> = {
    id: 'requests.list',
    label: 'Requests',
    columns,
    getKey: ({ request_id }) => request_id,
    getRoute: ({ request_id }) => routeTo('request', request_id),
    isAffected: () => true,
    refresh_ms: refreshMs,
  }
  const [later, earlier] = picked.toSorted().toReversed()
  return (
    <ListPage
      title="Requests"
      lead="Every API exchange as sent, without keys, tokens and prompt text."
      actions={(values) =>
        picked.length === 0 ? (
          <SaveHar query={toQuery(values)} />
        ) : picked.length === 2 ? (
          <Link className="small primary" href={`${routeTo('request', later ?? '')}?with=${earlier}`}>
            Compare both
          </Link>
        ) : (
          <span className="faint label">Pick another request to compare</span>
        )
      }
      filters={filters}
      isPausable
      noun="request"
      empty={
        <Empty icon="requests" title="No requests yet">
          Send one from the{' '}
          <Link className="link" href="/playground">
            playground
          </Link>
          , or: <code>svc placements create</code>
        </Empty>
      }
    >
      {(values, listed) => <LiveTable table={table} query={toQuery(values)} {...listed} />}
    </ListPage>
  )
}

/** The column that picks two requests to compare. */
function createPickColumn(
  picked: readonly string[],
  setPicked: (change: (before: readonly string[]) => readonly string[]) => void,
): Column<ListedRequest> {
  return {
    id: 'pick',
    header: '',
    width: '30px',
    cell: ({ request_id }) => (
      // The browser's own: a library component in each row would slow down scrolling.
      <label className="check">
        <input
          type="checkbox"
          aria-label={`Compare ${request_id}`}
          checked={picked.includes(request_id)}
          onChange={({ target }) =>
            setPicked((before) =>
              target.checked ? [...before, request_id].slice(-2) : before.filter((id) => id !== request_id),
            )
          }
        />
      </label>
    ),
  }
}

const fields: readonly Column<ListedRequest>[] = [
  { id: 'when', header: 'When', width: timeWidth, isNarrow: true, cell: ({ at_ms }) => <Time at_ms={at_ms} /> },
  {
    id: 'status',
    header: 'Status',
    width: '64px',
    isNarrow: true,
    cell: ({ status }) => <StatusChip status={status} text={status === 0 ? 'none' : null} />,
  },
  {
    id: 'request',
    header: 'Request',
    width: 'minmax(150px, 1.6fr)',
    isNarrow: true,
    cell: ({ method, path }) => (
      <code title={path}>
        <b>{method}</b> {path}
      </code>
    ),
  },
  {
    id: 'reason',
    header: 'Reason',
    width: 'minmax(110px, 0.8fr)',
    cell: ({ reason_code }) => (reason_code === null ? '' : <code className="soft">{reason_code}</code>),
  },
  {
    id: 'key',
    header: 'Key',
    width: '72px',
    isWide: true,
    cell: ({ key }) => <code className="faint">{key}</code>,
  },
  idColumn('session_id', 'Session', 'session', 'minmax(90px, 0.7fr)'),
  idColumn('request_id', 'Request ID', 'request', '140px'),
  {
    id: 'took',
    header: 'Took',
    width: '72px',
    isNumber: true,
    isWide: true,
    cell: ({ duration_ms }) => duration(duration_ms),
  },
]
