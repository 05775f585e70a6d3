/**
 * Requests a placement with every choice of the API, over the wire, and shows the outcome: the exchange, the rendered
 * frame on a product, the beacons as they arrive, and the call in other languages. Opening a link sends nothing.
 */
import { useMemo, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link, useSearchParams } from 'wouter'
import { useSession } from '../../data/session.ts'
import { Outcome } from '../../parts/Dialog.tsx'
import { SubmitForm } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Page } from '../../parts/Page.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { PlaygroundForm, useProjectKeys } from './PlaygroundForm.tsx'
import { PlaygroundResult } from './PlaygroundResult.tsx'
import { defaultState, findProblems, type PlaygroundState, placementBody, readState, writeState } from './state.ts'
import '#demo/styles/product.css'
import { ProductStage, type ProductStageHandle } from './ProductStage.tsx'
import { usePlaygroundRun } from './use-playground-run.ts'

export function PlaygroundPage() {
  const [params, setParams] = useSearchParams()
  const state = useMemo(() => readState(params.toString()), [params])
  const { base_url } = useSession()
  const [session_id] = useState(newSessionId)
  const surface = useRef<ProductStageHandle>(null)
  const { keys, publishable } = useSenderKeys(state)
  const problems = findProblems(state)
  const { run, timeline, action, send, stop, onPageEvent } = usePlaygroundRun({ state, session_id, keys, surface })
  const isForeign = location.origin !== new URL(base_url).origin

  const change = (some: Partial<PlaygroundState>) =>
    setParams(() => new URLSearchParams(writeState({ ...readState(location.search), ...some })), { replace: true })

  return (
    <Page
      title="Playground"
      lead="Requests go over the wire, as your server or a page would send them, and appear in the journal like any other."
      actions={<StateActions state={state} startOver={() => change(defaultState)} />}
    >
      {isForeign && <ForeignOrigin base_url={base_url} />}
      <div className="playground">
        <SubmitForm
          className="playground-form panel"
          aria-label="Request"
          onSubmit={() => problems.length === 0 && send()}
        >
          <PlaygroundForm state={state} change={change} problems={problems} publishable={publishable} />
          <SendButtons isRunning={action.isRunning} isReady={problems.length === 0} stop={stop} />
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
          body={placementBody(state, { client_id: keys.client_id, session_id })}
        />
      </div>
    </Page>
  )
}

/** Returns the keys of the chosen project, and the field for a publishable key that is not of the seed. */
function useSenderKeys(state: PlaygroundState) {
  const [value, onChange] = useState('')
  const { projects } = useSession()
  const { key_id, client_id } = useProjectKeys(state)
  const seeded = projects.find((project) => project.client_id === client_id)
  const keys = { client_id, key_id, publishable_key: value || seeded?.publishable_key || '' }
  return { keys, publishable: { value, onChange, isKnown: seeded !== undefined } }
}

function StateActions({ state, startOver }: { state: PlaygroundState; startOver: () => void }) {
  return (
    <>
      <CopyButton
        text={() => `${location.origin}${location.pathname}?${writeState(state)}`}
        label="Copy link to this state"
      >
        Copy link
      </CopyButton>
      <Button className="small" isDisabled={writeState(state) === ''} onPress={startOver}>
        Start over
      </Button>
    </>
  )
}

function SendButtons({ isRunning, isReady, stop }: { isRunning: boolean; isReady: boolean; stop: () => void }) {
  return (
    <div className="playground-send">
      <Button type="submit" className="small primary bar send-button" isDisabled={isRunning || !isReady}>
        <Icon name="send" />
        {isRunning ? 'Sending' : 'Send'}
      </Button>
      {isRunning && (
        <Button className="small" onPress={stop}>
          Stop
        </Button>
      )}
    </div>
  )
}

function newSessionId(): string {
  return `playground-${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) => byte.toString(36).padStart(2, '0')).join('')}`
}

function ForeignOrigin({ base_url }: { base_url: string }) {
  return (
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
  )
}
