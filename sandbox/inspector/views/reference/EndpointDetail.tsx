/**
 * One endpoint: what it is for, its examples, ready to run against this sandbox, and its fields with their provenance.
 */
import { useEffect, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import { call, pageSender, parseBody, type Send, type Sent, serverSender, useSession } from '../../data/api.ts'
import type { ListedEndpoint, Part } from '../../data/provenance.ts'
import { useResource } from '../../data/resource.ts'
import { Body, CodeTabs } from '../../parts/Code.tsx'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Loading, Panel } from '../../parts/Page.tsx'
import { Chip, duration, Id, StatusChip } from '../../parts/Values.tsx'
import { renderExports } from '../playground/exports.ts'
import { useProjectKeys } from '../playground/PlaygroundForm.tsx'
import { defaultState } from '../playground/state.ts'

interface EndpointDetailProps {
  endpoint: ListedEndpoint
  provenance: string | undefined
}

export function EndpointDetail({ endpoint, provenance }: EndpointDetailProps) {
  const { id, method, path, stability } = endpoint
  const openapi = useResource('contract.openapi', {})
  const operation =
    openapi.state.status === 'ready' ? findOperation(openapi.state.data as JsonObject, method, path) : null
  return (
    <div className="column">
      <Panel
        title={id}
        actions={
          <>
            <Chip tone={stability === 'deprecated' ? 'warn' : 'plain'}>{stability}</Chip>
            <Chip>{endpoint.provenance}</Chip>
            <Link className="small quiet" href="/reference">
              All
            </Link>
          </>
        }
      >
        <p>
          <code className="wrap">
            <b>{method}</b> {path}
          </code>
        </p>
        {operation !== null && (
          <p className="soft endpoint-text">
            <b>{String(operation.summary ?? '')}.</b> {String(operation.description ?? '')}
          </p>
        )}
      </Panel>
      {isRunnable(endpoint) &&
        (operation === null ? <Loading /> : <Example endpoint={endpoint} operation={operation} />)}
      {(['params', 'query', 'body', 'response'] as const).map((part) => (
        <Fields key={part} part={part} endpoint={endpoint} provenance={provenance} />
      ))}
    </div>
  )
}

/** Returns an endpoint from the OpenAPI document. */
function findOperation({ paths }: JsonObject, method: string, path: string): JsonObject {
  const item = isObject(paths) ? paths[path] : undefined
  const operation = isObject(item) ? item[method.toLowerCase()] : undefined
  return isObject(operation) ? operation : {}
}

const partNames: Readonly<Record<Part, string>> = {
  params: 'Path parameters',
  query: 'Query',
  body: 'Request body',
  response: 'Response',
}

function Fields({ endpoint, part, provenance }: EndpointDetailProps & { part: Part }) {
  const own = endpoint.fields.filter(({ where }) => where === part)
  const shown = own.filter((field) => provenance === undefined || field.provenance === provenance)
  if (own.length === 0) return null
  return (
    <Panel title={partNames[part]} actions={<Chip>{shown.length}</Chip>}>
      <dl className="field-list">
        {shown.map((field) => (
          <div key={`${field.variant} ${field.path}`}>
            <dt>
              <code>{field.path}</code>
              {field.required && <span className="required">required</span>}
            </dt>
            <dd>
              <span className="bar wrap-line">
                <Chip>{field.provenance}</Chip>
                {field.decision !== null && <code className="faint tiny">{field.decision}</code>}
                <code className="faint tiny">{field.type}</code>
                {field.variant !== null && <code className="faint tiny">{field.variant}</code>}
              </span>
              <span className="soft">{field.description}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

/** An example with its values filled in for this sandbox: one click runs it. */
function Example({ endpoint, operation }: { endpoint: ListedEndpoint; operation: JsonObject }) {
  const { id, method, path } = endpoint
  const { base_url, projects } = useSession()
  const { client_id, key_id } = useProjectKeys(defaultState)
  const examples = useMemo(() => listExamples(operation), [operation])
  const names = useMemo(() => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''), [path])
  const [chosen, setChosen] = useState('0')
  const [params, setParams] = useState<Readonly<Record<string, string>>>({})
  const [query, setQuery] = useState('')
  const example = examples[Number(chosen)] ?? examples[0]
  const [text, setText] = useState(bodyText(example?.body))
  const [sent, setSent] = useState<Sent | null>(null)
  const action = useAction()
  const seeded = projects.find((project) => project.client_id === client_id)
  const ground: Ground = { key_id, client_id, publishable_key: seeded?.publishable_key ?? '' }
  useEffect(() => {
    let isShown = true
    if (names.length > 0 && client_id !== '') {
      newestParams(names, client_id).then(
        (found) => {
          if (isShown) setParams((before) => ({ ...found, ...before }))
        },
        () => undefined,
      )
    }
    return () => {
      isShown = false
    }
  }, [names, client_id])
  const filled = names.reduce((whole, name) => whole.replace(`{${name}}`, encodeURIComponent(params[name] ?? '')), path)
  const empty = names.filter((name) => (params[name] ?? '') === '')
  const target = filled + (query === '' ? '' : `?${query.replace(/^\?/, '')}`)
  const body = parseJson(text)
  const run = () =>
    action.run(async () => {
      setSent(null)
      // An edited body is sent unchanged.
      const isExample = example?.body !== undefined && text === bodyText(example.body)
      const grounded = isExample ? await groundedBody(example.body as Json, ground, serverSender(key_id)) : null
      const sentBody = grounded === null ? text : JSON.stringify(grounded)
      const response = await runExample({ method, path: target, body: sentBody }, ground)
      setSent(response)
      return `Responded ${response.broken ?? response.status}.`
    })
  return (
    <Panel
      title="Run it"
      lead="Against this sandbox, with the secret test key of the first project. Placeholders are filled with values from it."
    >
      <div className="form">
        {examples.length > 1 && (
          <SelectInput
            label="Example"
            value={chosen}
            onChange={(next) => {
              setChosen(next)
              setText(bodyText(examples[Number(next)]?.body))
            }}
            values={examples.map(({ name }, index) => [String(index), name] as const)}
          />
        )}
        {names.map((name) => (
          <TextInput
            key={name}
            label={name}
            value={params[name] ?? ''}
            onChange={(value) => setParams((before) => ({ ...before, [name]: value }))}
            isCode
          />
        ))}
        {endpoint.fields.some(({ where }) => where === 'query') && (
          <TextInput label="Query" value={query} onChange={setQuery} placeholder="limit=5" isCode />
        )}
        {method !== 'GET' && (
          <TextInput
            label="Body"
            value={text}
            onChange={setText}
            rows={Math.min(14, Math.max(3, text.split('\n').length))}
            isCode
          />
        )}
        <Button className="small primary bar" isDisabled={action.isRunning || empty.length > 0} onPress={run}>
          <Icon name="playground" /> Run
        </Button>
        {empty.length > 0 && <p className="faint label">Fill in {empty.join(', ')} first: there is none here yet.</p>}
        <Outcome action={action} />
        {sent !== null && <Result sent={sent} id={id} />}
        {path.startsWith('/v1/') && (
          <CodeTabs
            label="The same call"
            variants={renderExports(
              {
                id,
                method,
                path: filled,
                ...(names.length === 0 ? {} : { params }),
                ...(body === undefined ? {} : { body }),
                as: 'server',
              },
              { base_url, origin: base_url },
            )}
          />
        )}
      </div>
    </Panel>
  )
}

function bodyText(body: Json | undefined): string {
  return body === undefined ? '' : JSON.stringify(body, null, 2)
}

function Result({ sent: { status, broken, text, duration_ms, request_id, path }, id }: { sent: Sent; id: string }) {
  return (
    <div className="column">
      <p className="bar">
        <StatusChip status={status} text={broken} />
        <span className="faint tiny">{duration(duration_ms)}</span>
        {path.startsWith('/v1/') && <Id kind="request" id={request_id} isCopied />}
      </p>
      <Body text={text} endpoint={status < 300 ? id : undefined} label="Response" />
    </div>
  )
}

interface Example {
  name: string
  body: Json | undefined
}

/** Returns the examples of an endpoint's body; one without a body where it has none. */
function listExamples({ requestBody: body }: JsonObject): Example[] {
  const content = isObject(body) && isObject(body.content) ? body.content['application/json'] : undefined
  const examples = isObject(content) && isObject(content.examples) ? content.examples : {}
  const found = Object.entries(examples).flatMap(([name, example]) =>
    isObject(example) && example.value !== undefined ? [{ name: name.replaceAll('_', ' '), body: example.value }] : [],
  )
  return found.length > 0 ? found : [{ name: 'without a body', body: undefined }]
}

/**
 * Whether an example of an endpoint can be run here: the API, and the part of the control plane that only reads JSON.
 */
function isRunnable({ method, path }: { method: string; path: string }): boolean {
  if (path.startsWith('/v1/')) return !/^\/v1\/(?:render\/|render\.js|test-assets)/.test(path)
  return method === 'GET' && path.startsWith('/_sandbox/') && !['/_sandbox/events', '/_sandbox/export'].includes(path)
}

/** The values of this sandbox that an example needs. */
interface Ground {
  key_id: string | null
  client_id: string
  publishable_key: string
}

/** Returns the values of path parameters that exist in this sandbox: the newest ones. A parameter without one is ''. */
async function newestParams(names: readonly string[], client_id: string): Promise<Record<string, string>> {
  const params: Record<string, string> = {}
  for (const name of names) params[name] = await newest(name, client_id)
  return params
}

async function newest(name: string, client_id: string): Promise<string> {
  if (name === 'client_id') return client_id
  if (name === 'slot_id' || name === 'job_id' || name === 'session_id') {
    const { items } = await call('placements.list', { query: { limit: 1 } })
    return items[0]?.[name] ?? ''
  }
  if (name === 'request_id') {
    const { items } = await call('requests.list', { query: { limit: 1 } })
    return items[0]?.request_id ?? ''
  }
  return ''
}

/** Requests a placement and loads its frame, as an integration does before it sends a beacon. */
async function prepareFill(send: Send, client_id: string): Promise<{ asset_token: string; slot_id: string }> {
  const body = JSON.stringify({ client_id, session_id: `example-${Date.now()}`, job_type: 'chat' })
  const sent = await send({ method: 'POST', path: '/v1/placements', body })
  const response = parseBody(sent)
  const placement = response?.placement
  if (!isObject(placement) || typeof placement.asset_token !== 'string') return { asset_token: '', slot_id: '' }
  await send({ method: 'GET', path: `/v1/render/${placement.asset_token}` })
  return { asset_token: placement.asset_token, slot_id: String(response?.slot_id) }
}

/** Returns a body with the identifiers and times of this sandbox. */
async function groundedBody(body: Json, ground: Ground, send: Send): Promise<Json> {
  const text = JSON.stringify(body)
  const fill = text.includes('ast_example') ? await prepareFill(send, ground.client_id) : null
  const { now_ms } = await call('clock.show')
  const walk = (value: Json, name: string): Json => {
    if (name === 'client_id') return ground.client_id
    if (name === 'asset_token' && fill !== null) return fill.asset_token
    if (name === 'slot_id' && fill !== null) return fill.slot_id
    if (name === 'publishable_key') return ground.publishable_key
    if (name === 'beacon_id') return `example-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`
    if (name === 'occurred_at_ms') return now_ms
    if (name === 'occurred_at') return new Date(now_ms).toISOString()
    if (name === 'expires_at_ms') return now_ms + 86_400_000
    if (Array.isArray(value)) return value.map((item) => walk(item, ''))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, walk(inner, field)]))
  }
  return walk(body, '')
}

/** Runs a call: as a page where only pages may, through the control plane for its own endpoints, else as a server. */
async function runExample(
  { method, path, body }: { method: string; path: string; body: string },
  { key_id }: Ground,
): Promise<Sent> {
  const request = { method, path, ...(body.trim() === '' ? {} : { body }) }
  if (path.startsWith('/_sandbox/') || path === '/v1/browser/activate') return pageSender(null)(request)
  return serverSender(key_id)(request)
}
