/** The result of a send: request and response with the provenance of each field, the live timeline, and the call to paste. */
import { isObject, type JsonObject, parseJson } from '#foundation/json.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useLoaded } from '../../data/resource.ts'
import { parseBody, type Sent } from '../../data/send.ts'
import { useSession } from '../../data/session.ts'
import { CodeTabs } from '../../parts/Code.tsx'
import { Json } from '../../parts/Json.tsx'
import { Message } from '../../parts/Message.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/Shown.tsx'
import { Chip, StatusChip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'
import { duration } from '../../parts/values/times.ts'
import { suiteText } from '../requests/qa-suite.ts'
import { renderExports } from './exports.ts'
import { type PlacementOutcome, playgroundSuite } from './playground-suite.ts'
import type { PlaygroundState } from './state.ts'

/** The result of the last send. */
export interface Run {
  state: PlaygroundState
  request: string
  /** The exchange of the placement, and the polls of its decision. */
  sent: Sent
  polls: readonly Sent[]
  slot_id: string | null
}

/** Events of the slot that is shown, from the sandbox and from render.js. */
export type TimelineEntry = { source: 'sandbox'; event: SandboxEvent } | { source: 'page'; event: RendererEvent }

interface PlaygroundResultProps {
  state: PlaygroundState
  run: Run | null
  timeline: readonly TimelineEntry[]
  /** The body of the current state. */
  body: JsonObject
}

export function PlaygroundResult({ state, run, timeline, body }: PlaygroundResultProps) {
  const last = run?.polls.at(-1) ?? run?.sent ?? null
  return (
    <div className="playground-result">
      <Panel title="Response" actions={last !== null && <Summary sent={last} polls={run?.polls.length ?? 0} />}>
        {last === null ? (
          <Empty icon="send" title="Nothing sent yet">
            Hover over a response field to see its provenance in the contract.
          </Empty>
        ) : (
          <Message
            title="Response"
            headers={last.headers}
            text={last.text}
            endpoint={last.status >= 300 ? undefined : last.method === 'GET' ? 'decisions.get' : 'placements.create'}
          />
        )}
      </Panel>
      <div className="column">
        <Panel title="Beacons and events" actions={<Chip>{timeline.length === 0 ? null : timeline.length}</Chip>}>
          {timeline.length === 0 ? (
            <Empty icon="beacons" title="Frame events appear here as they happen" />
          ) : (
            <ol className="events">
              {timeline.map((entry, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added
                <TimelineRow key={index} entry={entry} />
              ))}
            </ol>
          )}
        </Panel>
        <Panel title="Request">
          <Json
            value={run === null ? body : parseJson(run.request)}
            endpoint="placements.create"
            part="body"
            label="Request"
          />
        </Panel>
      </div>
      <Panel
        title="Export"
        lead={
          <>
            The current state as code. Keys come from the environment: <code>svc sandbox env</code>
          </>
        }
        className="export"
      >
        <Exports state={state} body={body} run={run} />
      </Panel>
    </div>
  )
}

function Summary({ sent: { status, duration_ms, request_id, broken, headers }, polls }: { sent: Sent; polls: number }) {
  const isForced = headers['x-sandbox-warning']?.includes('campaign_forced') === true
  return (
    <>
      <Chip tone="warn">{isForced ? 'forced, never billed' : null}</Chip>
      {polls > 0 && <Chip tone="warn">{`${polls} polls`}</Chip>}
      <span className="faint tiny">{duration(duration_ms)}</span>
      <StatusChip status={status} text={broken} />
      {request_id !== null && <Id kind="request" id={request_id} />}
    </>
  )
}

function TimelineRow({ entry }: { entry: TimelineEntry }) {
  if (entry.source === 'page') {
    const data: Readonly<Record<string, unknown>> = { ...entry.event }
    const reason = data.code ?? data.reason ?? data.no_fill_reason
    return (
      <li className="arriving bar">
        <Chip tone="plain">page</Chip>
        <code className="grow">{entry.event.type}</code>
        {typeof reason === 'string' && <Chip tone="warn">{reason}</Chip>}
      </li>
    )
  }
  const { type, data, at_ms } = entry.event
  const verdict = typeof data.verdict === 'string' ? data.verdict : null
  const reason = typeof data.reason_code === 'string' ? data.reason_code : null
  return (
    <li className="arriving bar">
      <Time at_ms={at_ms} />
      <code className="grow">{typeof data.event === 'string' ? data.event : type}</code>
      {data.would_bill === true && <Chip tone="money">would bill</Chip>}
      <Chip>{verdict ?? (typeof data.status === 'string' ? data.status : null)}</Chip>
      {reason !== null && reason !== 'OK' && reason !== verdict && <code className="faint tiny">{reason}</code>}
    </li>
  )
}

function Exports({ state, body, run }: { state: PlaygroundState; body: JsonObject; run: Run | null }) {
  const { base_url } = useSession()
  const exported = { id: 'placements.create', method: 'POST', path: '/v1/placements', body, as: state.as }
  const suite = JSON.stringify(playgroundSuite(state, body, readOutcome(run, state)))
  const { data: yaml } = useLoaded(suite, () => suiteText({ suite: JSON.parse(suite), notes: [] })).state
  return (
    <CodeTabs
      label="Export"
      variants={[
        ...renderExports(exported, { base_url, origin: base_url }),
        { id: 'qa', title: 'QA step', code: yaml ?? '' },
      ]}
    />
  )
}

/** Returns the outcome of the last send, if it was for this state. */
function readOutcome(run: Run | null, state: PlaygroundState): PlacementOutcome | null {
  if (run === null || JSON.stringify(run.state) !== JSON.stringify(state) || run.polls.length > 0) return null
  const body = parseBody(run.sent)
  const decision = isObject(body?.decision) ? body.decision : null
  if (run.sent.status === 0) return null
  return {
    status: run.sent.status,
    reason_code: typeof body?.reason_code === 'string' ? body.reason_code : null,
    fill: typeof decision?.fill === 'boolean' ? decision.fill : null,
    format: typeof decision?.format === 'string' ? decision.format : null,
  }
}
