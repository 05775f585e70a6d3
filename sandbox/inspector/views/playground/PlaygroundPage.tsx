/**
 * Requests a placement with every choice of the API, over the wire, and shows the outcome: the exchange, the rendered
 * frame on a product, the beacons as they arrive, and the call in other languages. Opening a link sends nothing.
 */
import { type RefObject, useEffect, useImperativeHandle, useMemo, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link, useSearchParams } from 'wouter'
import type { JobType } from '#contract/fields.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { createProduct, type Product } from '#demo/product.ts'
import { surfaces } from '#demo/surfaces.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import type { SponsoredPlacement } from '#renderer/host/main.ts'
import {
  ApiProblem,
  call,
  currentSession,
  pageSender,
  parseBody,
  pollDecision,
  type Sent,
  serverSender,
  useSession,
} from '../../data/api.ts'
import { type SandboxEvent, useLiveEvents } from '../../data/live.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SubmitForm } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Page } from '../../parts/Page.tsx'
import { CopyButton } from '../../parts/Values.tsx'
import { PlaygroundForm, useProjectKeys } from './PlaygroundForm.tsx'
import { PlaygroundResult, type Run, type TimelineEntry } from './PlaygroundResult.tsx'
import { defaultState, findProblems, type PlaygroundState, placementBody, readState, writeState } from './state.ts'
import '#demo/styles/product.css'

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

interface ProductStageHandle {
  /** Width for a creative, CSS pixels. */
  width(): number
  /** Plays a turn of the product and clears the slot. */
  begin(topic: string, text: string): void
  /** Mounts a placement. Resolves to whether render.js is loaded. */
  mount(response: PlacementResponse, session_id: string): Promise<boolean>
}

interface ProductStageProps {
  job_type: JobType
  handle: RefObject<ProductStageHandle | null>
  /** Called when a prompt of the product is chosen or written. */
  onAsk(prompt: { topic: string; text: string }): void
  onEvent(event: RendererEvent): void
}

function ProductStage({ job_type, handle, onAsk, onEvent }: ProductStageProps) {
  const place = useRef<HTMLDivElement>(null)
  const product = useRef<Product>(null)
  const turn = useRef<AbortController>(null)
  const latest = useRef({ onAsk, onEvent })
  latest.current = { onAsk, onEvent }

  useEffect(() => {
    const created = createProduct(job_type, {
      ask: ({ topic = '', text }) => latest.current.onAsk({ topic, text: topic === '' ? text : '' }),
      again: () => latest.current.onAsk({ topic: '', text: '' }),
      stop: () => turn.current?.abort(),
    })
    product.current = created
    place.current?.replaceChildren(created.element)
    return () => {
      turn.current?.abort()
      window.SponsoredPlacement?.clearPlacement({ target: created.slot.target })
      created.element.remove()
    }
  }, [job_type])

  useEffect(() => {
    let off: (() => void) | undefined
    let isShown = true
    void loadRenderer().then((renderer) => {
      if (isShown) off = renderer?.on('*', (event) => latest.current.onEvent(event))
    })
    return () => {
      isShown = false
      off?.()
    }
  }, [])

  useImperativeHandle(handle, () => ({
    width: () => product.current?.slot.width ?? 0,
    begin(topic, text) {
      const shown = product.current
      if (shown === null) return
      turn.current?.abort()
      window.SponsoredPlacement?.clearPlacement({ target: shown.slot.target })
      const controller = new AbortController()
      turn.current = controller
      const { prompts } = surfaces[job_type]
      const scripted = prompts.find((prompt) => prompt.topic === topic)
      const asked = text || scripted?.text || topic || prompts[0]?.text || ''
      const work = shown.begin({ ...scripted, label: asked, text: asked }, false)
      shown.setRunning(true)
      work(controller.signal)
        // A turn that was stopped rejects.
        .catch(() => undefined)
        .finally(() => {
          if (turn.current === controller) shown.setRunning(false)
        })
    },
    async mount(response, session_id) {
      const renderer = await loadRenderer()
      const slot = product.current?.slot
      if (renderer === null || slot === undefined) return false
      const placed = renderer.startTurn({
        target: slot.target,
        endpoint: '/_sandbox/inspector/mounted',
        headers: { 'x-sandbox-token': currentSession()?.token ?? '' },
        body: { session_id, response },
        keepMounted: true,
      })
      slot.follow(placed)
      return true
    },
  }))

  return <div className="surface" ref={place} />
}

let loading: Promise<SponsoredPlacement | null> | undefined

/** Loads render.js as any page does. */
function loadRenderer(): Promise<SponsoredPlacement | null> {
  loading ??= new Promise((resolve) => {
    const script = document.createElement('script')
    script.src = '/v1/render.js'
    script.onload = () => resolve(window.SponsoredPlacement ?? null)
    script.onerror = () => {
      loading = undefined
      resolve(null)
    }
    document.head.append(script)
  })
  return loading
}
