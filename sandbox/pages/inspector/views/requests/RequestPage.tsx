/** One exchange of the journal: both messages, the comparison, and sending it again with edits or as a suite. */
import { Link, useSearchParams } from 'wouter'
import { ownSender } from '#contract/own-requests.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { curlCommand, journaledRequest, pathPattern, redactedParts, withoutQuery } from '#foundation/http.ts'
import { parseJson } from '#foundation/json.ts'
import { type ListedEndpoint, readEndpoints } from '../../data/provenance.ts'
import { useLoaded, useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { withParam } from '../../parts/lists/filters.ts'
import { listMarks, Message } from '../../parts/Message.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip, StatusChip } from '../../parts/values/Chip.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { Id } from '../../parts/values/Id.tsx'
import type { IdKind } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'
import { duration } from '../../parts/values/times.ts'
import { CompareDialog } from './CompareDialog.tsx'
import { Comparison } from './Comparison.tsx'
import { Replay } from './Replay.tsx'
import { SaveEntryAsHar } from './SaveHar.tsx'
import { SaveSuite } from './SaveSuite.tsx'

export function RequestPage({ id }: { id: string }) {
  const resource = useResource('requests.show', { params: { request_id: id } })
  if (resource.state.status === 'ready') return <RequestEntry key={id} entry={resource.state.data} />
  const missing = (
    <Empty icon="requests" title="No such request in the journal">
      The journal is bounded and drops its oldest requests.{' '}
      <Link className="link" href="/requests">
        Newest requests
      </Link>
    </Empty>
  )
  return (
    <Page title={id} copies="request_id">
      <Shown resource={resource} missing={missing}>
        {() => null}
      </Shown>
    </Page>
  )
}

function RequestEntry({ entry }: { entry: RequestDetail }) {
  const { request_id, method, path, status } = entry
  const [params, setParams] = useSearchParams()
  const { base_url } = useSession()
  const endpoints = useLoaded('endpoints', readEndpoints).state.data ?? []
  const endpoint = findEndpoint(entry, endpoints)
  const other = params.get('with')
  const compareWith = (id: string) => setParams(withParam('with', id))
  return (
    <Page
      title={request_id}
      copies="request_id"
      lead={
        <code className="wrap">
          <b>{method}</b> {path}
        </code>
      }
      actions={
        <>
          <CopyCurl entry={entry} base_url={base_url} />
          <SaveSuite entry={entry} endpoints={endpoints} />
          <SaveEntryAsHar entry={entry} />
          <CompareDialog entry={entry} onChoose={compareWith} />
        </>
      }
    >
      <ExchangePanel entry={entry} endpoint={endpoint?.id} />
      {other !== null && <Comparison entry={entry} other_id={other} close={() => compareWith('')} />}
      <div className="columns even">
        <Panel title="Request">
          <Message
            title="Request"
            headers={entry.request_headers}
            text={entry.request_body}
            endpoint={endpoint?.id}
            part="body"
            marks={status < 400 ? undefined : listMarks(parseJson(entry.response_body ?? ''))}
          />
        </Panel>
        <Panel title="Response">
          <Message
            title="Response"
            headers={entry.response_headers}
            text={entry.response_body}
            endpoint={status < 300 ? endpoint?.id : undefined}
          />
        </Panel>
      </div>
      <Replay entry={entry} />
    </Page>
  )
}

/** The other requests of the trace. */
function traceLink(trace_id: string) {
  return (
    <Link key="trace" className="link" href={`/requests?trace_id=${trace_id}`}>
      <code>{trace_id}</code>
    </Link>
  )
}

function ExchangePanel({ entry, endpoint }: { entry: RequestDetail; endpoint: string | undefined }) {
  return (
    <Panel
      title="Exchange"
      actions={
        <>
          <StatusChip status={entry.status} />
          <Chip tone="bad">{entry.reason_code}</Chip>
        </>
      }
    >
      <KeyValues
        pairs={[
          ['When', <Time key="when" at_ms={entry.at_ms} show="date" />],
          ['Took', duration(entry.duration_ms)],
          ['Endpoint', endpoint === undefined ? null : <code key="endpoint">{endpoint}</code>],
          ['Project', linked('project', entry.client_id)],
          ['Key', linked('key', entry.key_id)],
          ['Credential', entry.key],
          ['Session', linked('session', entry.session_id)],
          ['Placement', linked('placement', entry.slot_id)],
          ['Trace', entry.trace_id === undefined ? null : traceLink(entry.trace_id)],
          ['Sent by', sentBy(entry)],
          ['Sent to', entry.alias],
          ['Old client', entry.old_client],
          ['Fault rule', entry.response_headers['x-sandbox-fault']],
          ['Replay of', linked('request', entry.request_headers['x-sandbox-replay'])],
        ]}
      />
    </Panel>
  )
}

/** Which part of svc sent it: it is not judged as a request of the integration. */
function sentBy({ request_headers }: RequestDetail): string | null {
  const sender = ownSender(request_headers)
  return sender === null ? null : `${senders[sender]}, not judged`
}

const senders: Readonly<Record<NonNullable<ReturnType<typeof ownSender>>, string>> = {
  command_line: 'svc',
  tools: 'a tool of svc agent mcp',
  qa: 'svc qa run',
  inspector: 'the playground',
  demo: 'the demo',
  console: 'the console on a page',
  contract_check: 'svc contract check',
}

function linked(kind: IdKind, id: string | null | undefined) {
  return id === null || id === undefined ? null : <Id kind={kind} id={id} />
}

function CopyCurl({ entry, base_url }: { entry: RequestDetail; base_url: string }) {
  const request = journaledRequest(entry, base_url)
  const parts = redactedParts({ url: request.url, ...(request.body === undefined ? {} : { body: request.body }) })
  const note = parts.length === 0 ? '' : `, without what the journal does not store: ${parts.join(', ')}`
  return (
    <CopyButton text={() => curlCommand(request)} label={`Copy as curl${note}`}>
      Copy as curl
    </CopyButton>
  )
}

function findEndpoint(
  { method, path }: RequestDetail,
  endpoints: readonly ListedEndpoint[],
): ListedEndpoint | undefined {
  const bare = withoutQuery(path)
  return endpoints.find((endpoint) => endpoint.method === method && pathPattern(endpoint.path).test(bare))
}
