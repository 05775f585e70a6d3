import { useEffect, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import type { ListedEndpoint } from '../../data/provenance.ts'
import { type Sent, serverSender } from '../../data/send.ts'
import { useSession } from '../../data/session.ts'
import { CodeTabs } from '../../parts/Code.tsx'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Body } from '../../parts/Message.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { StatusChip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { duration } from '../../parts/values/times.ts'
import { renderExports } from '../playground/exports.ts'
import { useProjectKeys } from '../playground/PlaygroundForm.tsx'
import { defaultState } from '../playground/state.ts'
import { type Ground, groundedBody, newestParams, runExample } from './run-example.ts'

/** An example with its values filled in for this sandbox: one click runs it. */
export function Example({ endpoint, operation }: { endpoint: ListedEndpoint; operation: JsonObject }) {
  const { id, method, path } = endpoint
  const { base_url } = useSession()
  const ground = useGround()
  const examples = useMemo(() => listExamples(operation), [operation])
  const names = useMemo(() => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''), [path])
  const [chosen, setChosen] = useState('0')
  const [params, setParam] = useNewestParams(names, ground.client_id)
  const [query, setQuery] = useState('')
  const example = examples[Number(chosen)] ?? examples[0]
  const [text, setText] = useState(bodyText(example?.body))
  const [sent, setSent] = useState<Sent | null>(null)
  const action = useAction()
  const filled = names.reduce((whole, name) => whole.replace(`{${name}}`, encodeURIComponent(params[name] ?? '')), path)
  const empty = names.filter((name) => (params[name] ?? '') === '')
  const target = filled + (query === '' ? '' : `?${query.replace(/^\?/, '')}`)
  const choose = (next: string) => {
    setChosen(next)
    setText(bodyText(examples[Number(next)]?.body))
  }
  const run = () =>
    action.run(async () => {
      setSent(null)
      const body = await fillBody(example?.body, text, ground)
      const response = await runExample({ method, path: target, body }, ground)
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
          <SelectInput label="Example" value={chosen} onChange={choose} values={exampleNames(examples)} />
        )}
        {names.map((name) => (
          <TextInput key={name} label={name} value={params[name] ?? ''} onChange={setParam(name)} isCode />
        ))}
        {endpoint.fields.some(({ where }) => where === 'query') && (
          <TextInput label="Query" value={query} onChange={setQuery} placeholder="limit=5" isCode />
        )}
        {method !== 'GET' && <TextInput label="Body" value={text} onChange={setText} rows={countRows(text)} isCode />}
        <Button className="small primary bar" isDisabled={action.isRunning || empty.length > 0} onPress={run}>
          <Icon name="playground" /> Run
        </Button>
        {empty.length > 0 && <p className="faint label">Fill in {empty.join(', ')} first: there is none here yet.</p>}
        <Outcome action={action} />
        {sent !== null && <Result sent={sent} id={id} />}
        {path.startsWith('/v1/') && (
          <CodeTabs
            label="The same call"
            variants={renderCall({ id, method, path: filled, ...(names.length > 0 && { params }) }, text, base_url)}
          />
        )}
      </div>
    </Panel>
  )
}

/** Returns the body to send: an edited one unchanged. */
async function fillBody(body: Json | undefined, text: string, ground: Ground): Promise<string> {
  if (body === undefined || text !== bodyText(body)) return text
  const grounded = await groundedBody(body, ground, serverSender(ground.key_id))
  return grounded === null ? text : JSON.stringify(grounded)
}

function useGround(): Ground {
  const { projects } = useSession()
  const { client_id, key_id } = useProjectKeys(defaultState)
  const seeded = projects.find((project) => project.client_id === client_id)
  return { key_id, client_id, publishable_key: seeded?.publishable_key ?? '' }
}

/** Returns the parameters of a path with the newest ids of this sandbox, until they are edited. */
function useNewestParams(names: readonly string[], client_id: string) {
  const [params, setParams] = useState<Readonly<Record<string, string>>>({})
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
  const set = (name: string) => (value: string) => setParams((before) => ({ ...before, [name]: value }))
  return [params, set] as const
}

export interface Example {
  name: string
  body: Json | undefined
}

function exampleNames(examples: readonly Example[]): (readonly [index: string, name: string])[] {
  return examples.map(({ name }, index) => [String(index), name])
}

function countRows(text: string): number {
  return Math.min(14, Math.max(3, text.split('\n').length))
}

function bodyText(body: Json | undefined): string {
  return body === undefined ? '' : JSON.stringify(body, null, 2)
}

type ExportedCall = Parameters<typeof renderExports>[0]

function renderCall(call: Omit<ExportedCall, 'body' | 'as'>, text: string, base_url: string) {
  const body = parseJson(text)
  return renderExports({ ...call, ...(body !== undefined && { body }), as: 'server' }, { base_url, origin: base_url })
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
export function isRunnable({ method, path }: { method: string; path: string }): boolean {
  if (path.startsWith('/v1/')) return !/^\/v1\/(?:render\/|render\.js|test-assets)/.test(path)
  return method === 'GET' && path.startsWith('/_sandbox/') && !['/_sandbox/events', '/_sandbox/export'].includes(path)
}
