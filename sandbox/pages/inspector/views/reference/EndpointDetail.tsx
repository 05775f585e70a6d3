/**
 * One endpoint: what it is for, its examples, ready to run against this sandbox, and its fields with their provenance.
 */
import { Link } from 'wouter'
import { isObject, type JsonObject } from '#foundation/json.ts'
import type { ListedEndpoint, Part } from '../../data/provenance.ts'
import { useResource } from '../../data/resource.ts'
import { Panel } from '../../parts/Panel.tsx'
import { Loading } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Example, isRunnable } from './EndpointExample.tsx'

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
