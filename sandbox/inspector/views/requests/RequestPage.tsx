/** One exchange of the journal: both messages, the comparison, and sending it again with edits or as a suite. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Link, useSearchParams } from 'wouter'
import { ownSender } from '#contract/own-requests.ts'
import type { ReplayResult, RequestDetail } from '#contract/resources/requests.ts'
import { curlCommand, journaledRequest, pathPattern, redactedParts, withoutQuery } from '#foundation/http.ts'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import { call, useSession } from '../../data/api.ts'
import { type ListedEndpoint, readEndpoints } from '../../data/provenance.ts'
import { useLoaded, useResource } from '../../data/resource.ts'
import { Code, listMarks, Message, saveFile } from '../../parts/Code.tsx'
import { DialogButton, Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { withParam } from '../../parts/ListPage.tsx'
import { Empty, KeyValues, Page, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, CopyButton, duration, Id, type IdKind, StatusChip, Time } from '../../parts/Values.tsx'
import { CompareDialog, CompareLink, Comparison, differences } from './Comparison.tsx'
import { suiteOfEntry, suiteText } from './qa-suite.ts'

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
  const { request_id, method, path, status, reason_code } = entry
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
          <CompareDialog entry={entry} onChoose={compareWith} />
        </>
      }
    >
      <Panel
        title="Exchange"
        actions={
          <>
            <StatusChip status={status} />
            <Chip tone="bad">{reason_code}</Chip>
          </>
        }
      >
        <KeyValues
          pairs={[
            ['When', <Time key="when" at_ms={entry.at_ms} show="date" />],
            ['Took', duration(entry.duration_ms)],
            ['Endpoint', endpoint === undefined ? null : <code key="endpoint">{endpoint.id}</code>],
            ['Project', linked('project', entry.client_id)],
            ['Key', linked('key', entry.key_id)],
            ['Credential', entry.key],
            ['Session', linked('session', entry.session_id)],
            ['Placement', linked('placement', entry.slot_id)],
            ['Sent by', sentBy(entry)],
            ['Sent to', entry.alias],
            ['Old client', entry.old_client],
            ['Fault rule', entry.response_headers['x-sandbox-fault']],
            ['Replay of', linked('request', entry.request_headers['x-sandbox-replay'])],
          ]}
        />
      </Panel>
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

/** Which part of svc sent it: it is not judged as a request of the integration. */
function sentBy({ request_headers }: RequestDetail): string | null {
  const sender = ownSender(request_headers)
  return sender === null ? null : `${senders[sender]}, not judged`
}

const senders: Readonly<Record<NonNullable<ReturnType<typeof ownSender>>, string>> = {
  command_line: 'svc',
  tools: 'a tool of svc mcp',
  qa: 'svc qa run',
  inspector: 'the playground',
  demo: 'the demo',
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

interface SaveSuiteProps {
  entry: RequestDetail
  endpoints: readonly ListedEndpoint[]
}

/** Saves a request as a suite that `svc qa run` runs. */
function SaveSuite({ entry, endpoints }: SaveSuiteProps) {
  return (
    <DialogButton icon="check" label="Save as QA step" title="QA step" isWide>
      <Suite entry={entry} endpoints={endpoints} />
    </DialogButton>
  )
}

function Suite({ entry, endpoints }: SaveSuiteProps) {
  const suite = useLoaded(`${entry.request_id} ${endpoints.length}`, () => suiteText(suiteOfEntry(entry, endpoints)))
  return (
    <Shown resource={suite}>
      {(text) => (
        <>
          <p className="soft">A suite with one case. The run fills in session, project, slots and tokens.</p>
          <Code code={text} label="Suite" />
          <div className="bar dialog-actions">
            <Button
              className="small primary bar"
              onPress={() => saveFile(new Blob([text], { type: 'application/yaml' }), `${entry.request_id}.yaml`)}
            >
              <Icon name="download" /> Download {entry.request_id}.yaml
            </Button>
          </div>
          <Code code={`svc qa run ./${entry.request_id}.yaml`} label="Command" isCommand />
        </>
      )}
    </Shown>
  )
}

function Replay({ entry }: { entry: RequestDetail }) {
  const sent = parseJson(entry.request_body ?? '')
  const original = isObject(sent) ? JSON.stringify(sent, null, 2) : ''
  const [text, setText] = useState(original)
  const [key_id, setKey] = useState('')
  const [result, setResult] = useState<ReplayResult | null>(null)
  const action = useAction()
  const edits = readEdits(isObject(sent) ? sent : {}, text)
  const edited = Object.keys(edits.set).length

  const replay = () =>
    action.run(async () => {
      setResult(null)
      const body = {
        ...(edited === 0 ? {} : { set: edits.set }),
        ...(key_id === '' ? {} : { key_id }),
      }
      const replayed = await call('requests.replay', { params: { request_id: entry.request_id }, body })
      setResult(replayed)
      return `Sent again as ${replayed.exchange.request_id}.`
    })

  return (
    <Panel
      title="Replay"
      lead="The sandbox sends the request again with the same key and new tokens. Prompt text is never stored, so it is left out."
    >
      <div className="replay pad">
        {isObject(sent) && (
          <TextInput
            label="Body"
            value={text}
            onChange={setText}
            rows={Math.min(16, Math.max(4, text.split('\n').length))}
            isCode
            hint="Change values or add fields. Fields that you remove are still sent."
            problem={edits.problem}
          />
        )}
        <div className="bar replay-actions">
          {entry.client_id !== null && <KeyChoice client_id={entry.client_id} value={key_id} onChange={setKey} />}
          <Button
            className="small primary bar"
            isDisabled={action.isRunning || edits.problem !== undefined}
            onPress={replay}
          >
            <Icon name="send" />
            {edited === 0 ? 'Replay' : `Replay with ${edited} ${edited === 1 ? 'edit' : 'edits'}`}
          </Button>
          {text !== original && (
            <Button className="small quiet" onPress={() => setText(original)}>
              Undo edits
            </Button>
          )}
        </div>
        <Outcome action={action} />
        {result !== null && <Replayed result={result} />}
      </div>
    </Panel>
  )
}

function Replayed({ result: { exchange, not_restored, replayed, status_before } }: { result: ReplayResult }) {
  return (
    <div className="box replayed">
      <div className="bar wrap-line">
        <Id kind="request" id={exchange.request_id} isCopied />
        <StatusChip status={status_before} />
        <span aria-hidden="true">→</span>
        <StatusChip status={exchange.status} />
        <Chip tone="bad">{exchange.reason_code}</Chip>
        <CompareLink id={exchange.request_id} with_id={replayed} />
      </div>
      {not_restored.length > 0 && (
        <ul className="soft label">
          {not_restored.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface KeyChoiceProps {
  client_id: string
  value: string
  onChange(key_id: string): void
}

function KeyChoice({ client_id, value, onChange }: KeyChoiceProps) {
  const { state } = useResource('keys.list', { params: { client_id } })
  const keys = state.status === 'ready' ? state.data.items.filter(({ revoked_at_ms }) => revoked_at_ms === null) : []
  const values = keys.map((key) => [key.key_id, `${key.class} ${key.mode}, ${key.key_id}`] as const)
  return <SelectInput label="Key" value={value} onChange={onChange} values={[['', 'the same key'], ...values]} />
}

/** Returns the values that differ from the sent ones, by dotted path. */
function readEdits(sent: JsonObject, text: string): { set: Record<string, Json>; problem: string | undefined } {
  if (text.trim() === '') return { set: {}, problem: undefined }
  const edited = parseJson(text)
  if (!isObject(edited)) return { set: {}, problem: 'Enter a JSON object.' }
  const set = Object.fromEntries(
    differences(sent, edited).flatMap(({ path, kind, after }) =>
      kind === 'same' || kind === 'removed' || after === undefined ? [] : [[path, after]],
    ),
  )
  return { set, problem: undefined }
}
