/** One slot, from its request to its billing verdict. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { noFillReasons } from '#contract/no-fill.ts'
import type { PlacementDetail, TraceStep } from '#contract/resources/placements.ts'
import { linkTo } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { Json } from '../../parts/Code.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Empty, elsewhere, KeyValues, Page, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, dateAndTime, findTone, Id, Time, type Tone } from '../../parts/Values.tsx'
import { BeaconList, VerdictChips } from '../beacons/Beacons.tsx'
import { EvidenceEntries } from '../records/EvidencePage.tsx'
import { readOutcome } from './PlacementsPage.tsx'

export function PlacementPage({ id }: { id: string }) {
  const resource = useResource('placements.explain', { params: { slot_id: id } }, (event) => event.slot_id === id)
  return (
    <Page
      title={id}
      copies="slot_id"
      lead="A placement, from its request to its billing verdict"
      actions={
        <a className="small" href={linkTo(`/_sandbox/placements/${encodeURIComponent(id)}?raw`)}>
          JSON
        </a>
      }
    >
      <Shown
        resource={resource}
        missing={
          <Empty icon="placements" title="There is no such placement">
            {elsewhere}
          </Empty>
        }
      >
        {(placement) => (
          <>
            <Missing placement={placement} />
            <Placement placement={placement} />
          </>
        )}
      </Shown>
    </Page>
  )
}

/** Why the placement would not be billed, and what to do: before everything else. */
function Missing({ placement: { fix, billing, no_fill_reason } }: { placement: PlacementDetail }) {
  if (fix === null) return null
  const why = no_fill_reason === null ? billing?.explanation : noFillReasons[no_fill_reason].meaning
  return (
    <Panel title="What is missing" className="missing">
      {why !== undefined && <p>{why}</p>}
      <p className="soft">{fix}</p>
    </Panel>
  )
}

function Placement({ placement }: { placement: PlacementDetail }) {
  const { decision, billing, consent, partner_request, beacons, evidence } = placement
  return (
    <div className="columns">
      <div className="column">
        <Panel title="Timeline">
          <Timeline placement={placement} />
        </Panel>
        <Panel title="Decision" lead="The campaigns that remained after each rule of the market.">
          <TraceFunnel trace={placement.trace} />
        </Panel>
        <Panel title={`Beacons (${beacons.length})`}>
          {beacons.length === 0 ? (
            <Empty icon="beacons" title={placement.fill === true ? 'No beacons yet' : 'No beacons'}>
              {placement.fill === true
                ? 'The renderer sends them when the frame is shown.'
                : 'Only a fill has a frame and beacons.'}
            </Empty>
          ) : (
            <BeaconList beacons={beacons} since_ms={placement.created_at_ms} />
          )}
        </Panel>
        <Panel title={`Evidence (${evidence.length})`} lead="Each hash covers the previous hash and the entry.">
          <EvidenceEntries entries={evidence} client_id={placement.client_id} />
        </Panel>
        <Panel title="Partner request" lead="What demand partners would have received.">
          {partner_request === null ? (
            <p className="soft">No request was made.</p>
          ) : (
            <Json
              value={partner_request}
              endpoint="placements.explain"
              prefix="partner_request"
              label="the partner request"
            />
          )}
        </Panel>
        {decision !== null && (
          <Panel title="Decision payload">
            <Json value={decision} endpoint="placements.explain" prefix="decision" label="the decision" />
          </Panel>
        )}
      </div>
      <div className="column">
        <Panel title="Summary">
          <KeyValues
            pairs={[
              [
                'Outcome',
                <span key="outcome" className="bar wrapping">
                  <Chip>{readOutcome(placement)}</Chip>
                  <Chip tone="warn">{placement.no_fill_reason}</Chip>
                </span>,
              ],
              ['Format', placement.format],
              ['Sponsor', decision?.fill ? decision.sponsor_name : null],
              ['Campaign', <Id key="campaign" kind="campaign" id={placement.campaign_id} />],
              ['Surface', placement.job_type],
              ['Mode', placement.mode],
              ['Topic', placement.topic],
              [
                'Prompt',
                placement.prompt_length === null ? null : `${placement.prompt_length} characters, never stored`,
              ],
              ['Project', <Id key="project" kind="project" id={placement.client_id} />],
              ['Session', <Id key="session" kind="session" id={placement.session_id} />],
              ['Job', <Id key="job" kind="job" id={placement.job_id} />],
              ['Created', dateAndTime(placement.created_at_ms)],
            ]}
          />
        </Panel>
        {billing !== null && (
          <Panel
            title="Billing verdict"
            actions={
              <Chip tone={billing.would_bill ? 'money' : 'plain'}>
                {billing.would_bill ? 'would bill' : 'would not bill'}
              </Chip>
            }
          >
            <p>{billing.explanation}</p>
            <KeyValues
              pairs={[
                ['Model', billing.metric.replaceAll('_', ' ')],
                ['Price', billing.gross_cpm === null ? null : `${billing.gross_cpm} ${billing.currency ?? ''} CPM`],
              ]}
            />
          </Panel>
        )}
        {decision?.fill === true && (
          <Panel title="Rendered frame" lead="A preview: nothing is counted and no beacons are sent.">
            <FramePreview slot_id={placement.slot_id} {...decision.dimensions} />
          </Panel>
        )}
        <Panel title="Consent at decision">
          {consent === null ? (
            <p className="soft">No consent was bound.</p>
          ) : (
            <Json value={consent} endpoint="placements.explain" prefix="consent" label="the consent snapshot" />
          )}
        </Panel>
      </div>
    </div>
  )
}

interface FramePreviewProps {
  slot_id: string
  width: number
  height: number
}

/** The frame of a fill as a page would show it. Nothing in its document is counted: no load, no beacon. */
function FramePreview({ slot_id, width, height }: FramePreviewProps) {
  const place = useRef<HTMLDivElement>(null)
  const [available_px, setAvailable] = useState(width)
  useEffect(() => {
    if (place.current === null) return
    const observer = new ResizeObserver(([entry]) => entry !== undefined && setAvailable(entry.contentRect.width))
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  // A frame that is wider than the panel is shown smaller, not cut.
  const scale = Math.min(1, available_px / Math.max(1, width))
  return (
    <div className="preview-place" ref={place}>
      <div style={{ width: width * scale, height: height * scale }}>
        <iframe
          title="The rendered frame"
          src={linkTo(`/_sandbox/placements/${encodeURIComponent(slot_id)}/preview`)}
          sandbox="allow-scripts"
          width={width}
          height={height}
          style={{ transform: `scale(${scale})` }}
        />
      </div>
    </div>
  )
}

interface Step {
  at_ms: number
  title: string
  text?: string
  tone: Tone
  chips?: ReactNode
}

function listSteps(placement: PlacementDetail): Step[] {
  const { created_at_ms, decided_at_ms, first_frame_at_ms, decision, beacons } = placement
  const steps: Step[] = [
    { at_ms: created_at_ms, title: 'Requested', text: `${placement.job_type}, ${placement.mode} mode`, tone: 'plain' },
  ]
  if (decided_at_ms !== null) {
    steps.push({
      at_ms: decided_at_ms,
      title: placement.fill ? 'Filled' : 'Not filled',
      ...(decision?.fill === true && { text: `${decision.sponsor_name}, ${decision.format}` }),
      tone: placement.fill ? 'good' : 'warn',
      chips: <Chip tone="warn">{placement.no_fill_reason}</Chip>,
    })
  }
  if (first_frame_at_ms !== null) steps.push({ at_ms: first_frame_at_ms, title: 'Frame loaded', tone: 'plain' })
  for (const beacon of beacons) {
    steps.push({
      at_ms: beacon.received_at_ms,
      title: `Beacon ${beacon.event ?? 'unreadable'}`,
      tone: findTone(beacon.verdict),
      chips: <VerdictChips beacon={beacon} />,
    })
  }
  return steps.toSorted((a, b) => a.at_ms - b.at_ms)
}

/** The timeline of a slot: request, decision, frame, beacons, verdict. */
function Timeline({ placement }: { placement: PlacementDetail }) {
  const steps = listSteps(placement)
  const isPending = readOutcome(placement) === 'pending'
  return (
    <ol className="steps">
      {steps.map(({ at_ms, title, text, tone, chips }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only added at their time, and have no state
        <li key={index} data-tone={tone}>
          <Time at_ms={at_ms} {...(index > 0 && { since_ms: placement.created_at_ms })} />
          <span className="bar said">
            <b>{title}</b>
            {text !== undefined && <span className="soft">{text}</span>}
            {chips}
          </span>
        </li>
      ))}
      {isPending && (
        <li data-tone="warn">
          <span className="faint tiny">waiting</span>
          <b>Not decided yet</b>
        </li>
      )}
      {placement.billing !== null && (
        <li data-tone={placement.billing.would_bill ? 'good' : 'plain'}>
          <span className="faint tiny">now</span>
          <span className="bar said">
            <b>{placement.billing.would_bill ? 'Would be billed' : 'Would not be billed'}</b>
            <span className="soft">{placement.billing.explanation}</span>
          </span>
        </li>
      )}
    </ol>
  )
}

interface Stage {
  rule: string
  explanation: string
  removed: readonly TraceStep[]
  left: number
}

/** Returns the rules in the order that they removed campaigns, with the number that each left. */
function listStages(trace: readonly TraceStep[]): Stage[] {
  const removed = trace.filter(({ outcome }) => outcome === 'removed')
  const byRule = Map.groupBy(removed, ({ rule }) => rule ?? 'unknown')
  let left = trace.length
  return [...byRule].map(([rule, steps]) => {
    left -= steps.length
    return { rule, explanation: steps[0]?.explanation ?? '', removed: steps, left }
  })
}

function Campaigns({ of }: { of: readonly TraceStep[] }) {
  return (
    <ul className="tags">
      {of.map(({ campaign_id }) => (
        <li key={campaign_id}>
          <Id kind="campaign" id={campaign_id} />
        </li>
      ))}
    </ul>
  )
}

/** The trace of a decision as a funnel: how many campaigns each rule removed, down to the one that won. */
function TraceFunnel({ trace }: { trace: readonly TraceStep[] }) {
  const [opened, setOpened] = useState<string | null>(null)
  if (trace.length === 0) return <p className="soft">No campaign was considered.</p>
  const stages = listStages(trace)
  const winner = trace.find(({ outcome }) => outcome === 'won')
  const outbid = trace.filter(({ outcome }) => outcome === 'outbid')
  const share = (count: number) => `${(100 * count) / trace.length}%`
  return (
    <ol className="funnel">
      <li className="funnel-row">
        <span className="funnel-name">
          <b>{trace.length}</b> campaigns of the market
        </span>
        <span className="funnel-track">
          <span className="funnel-bar" style={{ width: '100%' }} />
        </span>
      </li>
      {stages.map(({ rule, explanation, removed, left }) => (
        <li key={rule}>
          <Button
            className="funnel-row"
            aria-expanded={opened === rule}
            onPress={() => setOpened(opened === rule ? null : rule)}
          >
            <span className="funnel-name">
              <b>{removed.length}</b> removed by <code>{rule}</code>
              <Icon name="chevron" />
            </span>
            <span className="funnel-track" title={`${left} left`}>
              <span className="funnel-bar" style={{ width: share(left) }} />
              <span className="funnel-loss" style={{ width: share(removed.length) }} />
            </span>
          </Button>
          {opened === rule && (
            <div className="funnel-detail">
              <p className="soft">{explanation}</p>
              <Campaigns of={removed} />
            </div>
          )}
        </li>
      ))}
      {outbid.length > 0 && (
        <li className="funnel-row">
          <span className="funnel-name">
            <b>{outbid.length}</b> outbid
          </span>
          <Campaigns of={outbid} />
        </li>
      )}
      <li className="funnel-row funnel-end">
        <span className="funnel-name bar">
          {winner === undefined ? <Chip tone="warn">no campaign left</Chip> : <Chip>won</Chip>}
          {winner !== undefined && <Id kind="campaign" id={winner.campaign_id} />}
        </span>
        <span className="soft">{winner?.explanation}</span>
      </li>
    </ol>
  )
}
