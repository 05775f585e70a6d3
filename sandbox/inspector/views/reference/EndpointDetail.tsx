/** One endpoint: what it is for, an example that runs against this sandbox, and its fields with their provenance. */
import { useEffect, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import { isObject, type JsonObject, type Json as JsonValue, parseJson } from '../../../../src/foundation/json.ts'
import type { ListedEndpoint, Part } from '../../data/provenance.ts'
import { useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { Chip, toneOfStatus } from '../../parts/Chip.tsx'
import { CodeTabs } from '../../parts/Code.tsx'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Id } from '../../parts/Id.tsx'
import { Body } from '../../parts/Json.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Loading } from '../../parts/States.tsx'
import { duration } from '../../parts/Time.tsx'
import { curlExport, pythonExport, typescriptExport } from '../playground/exports.ts'
import { useProjectKeys } from '../playground/PlaygroundForm.tsx'
import { type Sent, serverSender } from '../playground/send.ts'
import { defaultState } from '../playground/state.ts'
import { examplesOf, type Ground, groundedBody, isRunnable, newestParams, runExample } from './examples.ts'

interface EndpointDetailProps {
  endpoint: ListedEndpoint
  search: string
  provenance: string | undefined
}

export function EndpointDetail({ endpoint, search, provenance }: EndpointDetailProps) {
  const { id, method, path, stability } = endpoint
  const openapi = useResource('contract.openapi', {})
  const document = openapi.state.status === 'ready' ? (openapi.state.data as JsonObject) : null
  const operation = document === null ? null : operationOf(document, method, path)
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
      {isRunnable(endpoint) && (document === null ? <Loading /> : <Example endpoint={endpoint} openapi={document} />)}
      {(['params', 'query', 'body', 'response'] as const).map((part) => (
        <Fields key={part} part={part} endpoint={endpoint} search={search} provenance={provenance} />
      ))}
    </div>
  )
}

function operationOf(openapi: JsonObject, method: string, path: string): JsonObject | null {
  const paths = isObject(openapi.paths) ? openapi.paths : {}
  const item = paths[path]
  const operation = isObject(item) ? item[method.toLowerCase()] : null
  return isObject(operation) ? operation : null
}

const partNames: Readonly<Record<Part, string>> = {
  params: 'Path parameters',
  query: 'Query',
  body: 'Request body',
  response: 'Response',
}

interface FieldsProps extends EndpointDetailProps {
  part: Part
}

function Fields({ endpoint, part, provenance }: FieldsProps) {
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

/** An example with its values filled in for this sandbox: one press runs it. */
function Example({ endpoint, openapi }: { endpoint: ListedEndpoint; openapi: JsonObject }) {
  const { id, method, path } = endpoint
  const { base_url, projects } = useSession()
  const { client_id, key_id } = useProjectKeys(defaultState)
  const examples = useMemo(() => examplesOf(openapi, method, path), [openapi, method, path])
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
  const target = filled + (query === '' ? '' : `?${query.replace(/^\?/, '')}`)
  const body = parseJson(text)
  const run = () =>
    action.run(async () => {
      setSent(null)
      // A body that was edited is sent as it is.
      const isExample = example?.body !== undefined && text === bodyText(example.body)
      const grounded = isExample ? await groundedBody(example.body as JsonValue, ground, serverSender(key_id)) : null
      const sentBody = grounded === null ? text : JSON.stringify(grounded)
      const response = await runExample({ method, path: target, body: sentBody }, ground)
      setSent(response)
      return `Responded ${response.broken ?? response.status}.`
    })
  const exported = { id, method, path: filled, ...(body === undefined ? {} : { body }), as: 'server' as const }
  const exportTarget = { base_url, origin: base_url }
  return (
    <Panel
      title="Run it"
      lead="Against this sandbox, with the secret test key of the first project. Placeholders become what exists here."
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
        <Button
          className="small primary bar"
          isDisabled={action.isRunning || names.some((name) => (params[name] ?? '') === '')}
          onPress={run}
        >
          <Icon name="playground" /> Run
        </Button>
        {names.some((name) => (params[name] ?? '') === '') && (
          <p className="faint label">
            Fill in {names.filter((name) => (params[name] ?? '') === '').join(', ')} first: there is none here yet.
          </p>
        )}
        <Outcome action={action} />
        {sent !== null && <Result sent={sent} id={id} />}
        {path.startsWith('/v1/') && (
          <CodeTabs
            label="The same call"
            variants={[
              { id: 'curl', title: 'curl', code: curlExport(exported, exportTarget) },
              {
                id: 'typescript',
                title: 'TypeScript',
                code: typescriptExport({ ...exported, ...(names.length === 0 ? {} : { params }) }, exportTarget),
              },
              { id: 'python', title: 'Python', code: pythonExport(exported, exportTarget) },
            ]}
          />
        )}
      </div>
    </Panel>
  )
}

function bodyText(body: JsonValue | undefined): string {
  return body === undefined ? '' : JSON.stringify(body, null, 2)
}

function Result({ sent: { status, broken, text, duration_ms, request_id, path }, id }: { sent: Sent; id: string }) {
  return (
    <div className="column">
      <p className="bar">
        <Chip tone={toneOfStatus(status)}>{broken ?? status}</Chip>
        <span className="faint tiny">{duration(duration_ms)}</span>
        {path.startsWith('/v1/') && <Id kind="request" id={request_id} isCopied />}
      </p>
      <Body text={text} endpoint={status < 300 ? id : undefined} label="Response" />
    </div>
  )
}
