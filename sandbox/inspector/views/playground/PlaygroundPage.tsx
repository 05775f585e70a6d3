/**
 * Requests a placement with every choice of the API, over the wire, and shows the outcome: the exchange, the rendered
 * frame on a product, the beacons as they arrive, and the call in other languages. Opening a link sends nothing.
 */
import { useMemo, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link, useSearchParams } from 'wouter'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { ApiProblem, call } from '../../data/api.ts'
import { type SandboxEvent, useLiveEvents } from '../../data/live.ts'
import { pageSender, parseBody, pollDecision, type Sent, serverSender } from '../../data/send.ts'
import { useSession } from '../../data/session.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SubmitForm } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Page } from '../../parts/Page.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { PlaygroundForm, useProjectKeys } from './PlaygroundForm.tsx'
import { PlaygroundResult, type Run, type TimelineEntry } from './PlaygroundResult.tsx'
import { defaultState, findProblems, type PlaygroundState, placementBody, readState, writeState } from './state.ts'
import '#demo/styles/product.css'
import { ProductStage, type ProductStageHandle } from './ProductStage.tsx'

const maxEvents = 200

export function PlaygroundPage() {
  const [params, setParams] = useSearchParams()
  const state = useMemo(() => readState(params.toString()), [params])
  const { base_url, projects } = useSession()
  const [publishable, setPublishable] = useState('')
  const [session_id] = useState(newSessionId)
  const [run, setRun] = useState<Run | null>(null)
  const [timeline, setTimeline] = useState<readonly TimelineEntry[]>([])
  const surface = useRef<ProductStageHandle>(null)
  const controller = useRef<AbortController>(null)
  const slot = useRef<string | null>(null)
  const action = useAction()
  const { key_id, client_id } = useProjectKeys(state)
  const seeded = projects.find((project) => project.client_id === client_id)
  const publishable_key = publishable || seeded?.publishable_key || ''
  const problems = findProblems(state)
  const isForeign = location.origin !== new URL(base_url).origin

  const change = (some: Partial<PlaygroundState>) =>
    setParams(() => new URLSearchParams(writeState({ ...readState(location.search), ...some })), { replace: true })
  const note = (entry: TimelineEntry) => setTimeline((before) => [...before, entry].slice(-maxEvents))

  useLiveEvents((events: readonly SandboxEvent[]) => {
    for (const event of events) {
      if (event.slot_id !== null && event.slot_id === slot.current) note({ source: 'sandbox', event })
    }
  })
  const onPageEvent = (event: RendererEvent) => {
    if (slot.current !== null) note({ source: 'page', event })
  }

  const send = (some: Partial<PlaygroundState> = {}) =>
    action.run(async () => {
      const current = { ...state, ...some }
      controller.current?.abort()
      const own = new AbortController()
      controller.current = own
      const { signal } = own
      slot.current = null
      setRun(null)
      setTimeline([])
      surface.current?.begin(current.topic, current.text)
      if (current.scenario === 'none') await call('scenario.clear')
      else if (current.scenario !== '') await call('scenario.use', { params: { name: current.scenario }, body: {} })
      const width = surface.current?.width() ?? 0
      const body = placementBody(current, { client_id, session_id, ...(width > 0 ? { max_width: width } : {}) })
      const text = JSON.stringify(body)
      const sender =
        current.as === 'server' ? serverSender(current.key || key_id) : await pageWithToken(publishable_key)
      let sent = await sender({ method: 'POST', path: '/v1/placements', body: text }, signal)
      const first = parseBody(sent)
      const slot_id = typeof first?.slot_id === 'string' ? first.slot_id : null
      slot.current = slot_id
      const next: Run = { state: current, request: text, sent, polls: [], slot_id }
      setRun(next)
      if (slot_id !== null && first?.status === 'pending') {
        const polls: Sent[] = []
        const decided = await pollDecision(sender, slot_id, signal, (poll) => {
          polls.push(poll)
          setRun({ ...next, polls: [...polls] })
        })
        if (decided === null) return 'The decision is still pending.'
        sent = decided
      }
      const response = parseBody(sent) as PlacementResponse | null
      if (sent.status === 200 && response?.decision?.fill === true) {
        const isThere = await surface.current?.mount(response, String(body.session_id))
        if (isThere === false)
          throw new ApiProblem(
            0,
            { hint: 'An ad blocker in this browser may have stopped it.' },
            'render.js was not loaded.',
          )
      }
      return describeResult(sent, response)
    })

  return (
    <Page
      title="Playground"
      lead="Requests go over the wire, as your server or a page would send them, and appear in the journal like any other."
      actions={
        <>
          <CopyButton
            text={() => `${location.origin}${location.pathname}?${writeState(state)}`}
            label="Copy link to this state"
          >
            Copy link
          </CopyButton>
          <Button className="small" isDisabled={writeState(state) === ''} onPress={() => change(defaultState)}>
            Start over
          </Button>
        </>
      }
    >
      {isForeign && (
        <p className="banner bar" data-tone="warn">
          <Icon name="shield" />
          <span>
            Frames are at {new URL(base_url).origin}.{' '}
            <a className="link" href={`${base_url}/_sandbox/playground${location.search}`}>
              Open this page there
            </a>{' '}
            to see them.
          </span>
        </p>
      )}
      <div className="playground">
        <SubmitForm
          className="playground-form panel"
          aria-label="Request"
          onSubmit={() => problems.length === 0 && send()}
        >
          <PlaygroundForm
            state={state}
            change={change}
            problems={problems}
            publishable={{ value: publishable, onChange: setPublishable, isKnown: seeded !== undefined }}
          />
          <div className="playground-send">
            <Button
              type="submit"
              className="small primary bar send-button"
              isDisabled={action.isRunning || problems.length > 0}
            >
              <Icon name="send" />
              {action.isRunning ? 'Sending' : 'Send'}
            </Button>
            {action.isRunning && (
              <Button className="small" onPress={() => controller.current?.abort()}>
                Stop
              </Button>
            )}
          </div>
        </SubmitForm>
        <div className="playground-stage">
          <ProductStage
            job_type={state.job_type}
            handle={surface}
            onAsk={(prompt) => {
              const asked = prompt.topic === '' && prompt.text === '' ? {} : prompt
              change(asked)
              void send(asked)
            }}
            onEvent={onPageEvent}
          />
          <Outcome action={action} />
          {run?.slot_id != null && (
            <p className="label">
              <Link className="link" href={`/placements/${run.slot_id}`}>
                Placement details: trace, partner request, evidence
              </Link>
            </p>
          )}
        </div>
        <PlaygroundResult
          state={state}
          run={run}
          timeline={timeline}
          body={placementBody(state, { client_id, session_id })}
        />
      </div>
    </Page>
  )
}

/** Activates as a page does. @throws ApiProblem when the key or the origin is refused */
async function pageWithToken(publishable_key: string) {
  if (publishable_key === '') {
    throw new ApiProblem(
      0,
      { hint: 'The sandbox does not store keys: paste the publishable key of the project.' },
      'Which page is it?',
    )
  }
  const activation = await pageSender(null)({
    method: 'POST',
    path: '/v1/browser/activate',
    body: JSON.stringify({ publishable_key }),
  })
  const body = parseBody(activation)
  if (activation.status !== 200 || typeof body?.activation_token !== 'string') {
    throw new ApiProblem(activation.status, body ?? {}, 'The activation was refused.')
  }
  return pageSender(body.activation_token)
}

function describeResult({ status, broken }: Sent, response: PlacementResponse | null): string {
  if (broken !== null) return `No response: ${broken}.`
  if (status !== 200) return `Refused with ${status}.`
  const decision = response?.decision
  if (decision?.fill === true) return `A ${decision.format} from ${decision.sponsor_name}.`
  return decision?.fill === false ? `No fill: ${decision.no_fill_reason}.` : 'Pending.'
}

function newSessionId(): string {
  return `playground-${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
