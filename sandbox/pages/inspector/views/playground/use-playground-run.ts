/** Sends the request of the playground and follows its slot: on the page and in the sandbox. */
import { type RefObject, useRef, useState } from 'react'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { ApiProblem, call } from '../../data/api.ts'
import { type SandboxEvent, useLiveEvents } from '../../data/live.ts'
import { pageSender, parseBody, pollDecision, type Sent, serverSender } from '../../data/send.ts'
import { useAction } from '../../parts/Dialog.tsx'
import type { Run, TimelineEntry } from './PlaygroundResult.tsx'
import type { ProductStageHandle } from './ProductStage.tsx'
import { type PlaygroundState, placementBody } from './state.ts'

const maxEvents = 200

interface RunOptions {
  state: PlaygroundState
  session_id: string
  keys: { client_id: string; key_id: string | null; publishable_key: string }
  surface: RefObject<ProductStageHandle | null>
}

export function usePlaygroundRun({ state, session_id, keys, surface }: RunOptions) {
  const [run, setRun] = useState<Run | null>(null)
  const [timeline, setTimeline] = useState<readonly TimelineEntry[]>([])
  const controller = useRef<AbortController>(null)
  const slot = useRef<string | null>(null)
  const action = useAction()
  const { client_id, key_id, publishable_key } = keys
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
      await applyScenario(current.scenario)
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
        await mountFill(surface.current, response, String(body.session_id))
      }
      return describeResult(sent, response)
    })
  return { run, timeline, action, send, stop: () => controller.current?.abort(), onPageEvent }
}

/** @throws ApiProblem when render.js is not loaded */
async function mountFill(surface: ProductStageHandle | null, response: PlacementResponse, session_id: string) {
  if ((await surface?.mount(response, session_id)) !== false) return
  const hint = 'An ad blocker in this browser may have stopped it.'
  throw new ApiProblem(0, { hint }, 'render.js was not loaded.')
}

async function applyScenario(name: string): Promise<void> {
  if (name === 'none') await call('scenario.clear')
  else if (name !== '') await call('scenario.use', { params: { name }, body: {} })
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
