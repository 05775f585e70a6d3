/** One slot, from its request to its billing verdict. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { noFillReasons } from '#contract/no-fill.ts'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import { describeBilling } from '#contract/words/billing.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { useResource } from '../../data/resource.ts'
import { linkTo } from '../../data/session.ts'
import { Json } from '../../parts/Json.tsx'
import { Page } from '../../parts/Page.tsx'
import { KeyValues, Panel } from '../../parts/Panel.tsx'
import { Empty, elsewhere, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { dateAndTime } from '../../parts/values/times.ts'
import { BeaconList } from '../beacons/BeaconTable.tsx'
import { EvidenceEntries } from '../records/EvidencePage.tsx'
import { readOutcome } from './PlacementsPage.tsx'
import { Timeline } from './PlacementTimeline.tsx'
import { TraceFunnel } from './TraceFunnel.tsx'

export function PlacementPage({ id }: { id: string }) {
  const resource = useResource('placements.explain', { params: { slot_id: id } }, (event) => event.slot_id === id)
  return (
    <Page
      title={id}
      copies="slot_id"
      lead="A placement, from its request to its billing verdict"
      actions={
        <>
          <a className="small" href={linkTo(`/_sandbox/bundle.html?slot_id=${encodeURIComponent(id)}`)} download>
            Save as a file
          </a>
          <a className="small" href={linkTo(`/_sandbox/placements/${encodeURIComponent(id)}?raw`)}>
            JSON
          </a>
        </>
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
            <PlacementPanels placement={placement} />
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

interface PlacementPanelsProps {
  placement: PlacementDetail
  /** In place of the preview of its frame: the placement may be unknown here. */
  frame?: ReactNode
}

export function PlacementPanels({ placement, frame }: PlacementPanelsProps) {
  const { decision, billing, consent, partner_request, personal_data, evidence } = placement
  return (
    <div className="columns">
      <div className="column">
        <Panel title="Timeline">
          <Timeline placement={placement} />
        </Panel>
        <Panel title="Decision" lead="The campaigns that remained after each rule of the market.">
          <TraceFunnel trace={placement.trace} />
        </Panel>
        {placement.auction !== undefined && (
          <Panel title="Auction" lead="When each partner answered, and what it offered.">
            <KeyValues
              pairs={placement.auction.map(({ name, answered_at_ms, outcome, price_cpm, currency, problem }) => [
                name,
                [
                  `${answered_at_ms} ms: ${outcome.replace('_', ' ')}`,
                  price_cpm === null ? '' : `${price_cpm} ${currency ?? ''}`,
                  problem ?? '',
                ]
                  .filter((part) => part !== '')
                  .join(', '),
              ])}
            />
          </Panel>
        )}
        <BeaconsPanel placement={placement} />
        <Panel title={`Evidence (${evidence.length})`} lead="Each hash covers the previous hash and the entry.">
          <EvidenceEntries entries={evidence} client_id={placement.client_id} />
        </Panel>
        <Panel title="Partner request" lead="What demand partners would have received.">
          {partner_request === null ? (
            <p className="soft">No request was made.</p>
          ) : (
            <>
              <PersonalData found={personal_data} />
              <Json
                value={partner_request}
                endpoint="placements.explain"
                prefix="partner_request"
                label="the partner request"
              />
            </>
          )}
        </Panel>
        {decision !== null && (
          <Panel title="Decision payload">
            <Json value={decision} endpoint="placements.explain" prefix="decision" label="the decision" />
          </Panel>
        )}
      </div>
      <div className="column">
        <SummaryPanel placement={placement} />
        {billing !== null && <BillingPanel billing={billing} />}
        {frame ??
          (decision?.fill === true && (
            <Panel title="Rendered frame" lead="A preview: nothing is counted and no beacons are sent.">
              <FramePreview slot_id={placement.slot_id} {...decision.dimensions} />
            </Panel>
          ))}
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

function BeaconsPanel({ placement: { beacons, fill, created_at_ms } }: { placement: PlacementDetail }) {
  return (
    <Panel title={`Beacons (${beacons.length})`}>
      {beacons.length === 0 ? (
        <Empty icon="beacons" title={fill === true ? 'No beacons yet' : 'No beacons'}>
          {fill === true ? 'The renderer sends them when the frame is shown.' : 'Only a fill has a frame and beacons.'}
        </Empty>
      ) : (
        <BeaconList beacons={beacons} since_ms={created_at_ms} />
      )}
    </Panel>
  )
}

/** The fields that should not have left the integration. Their values are in the request below. */
function PersonalData({ found }: { found: PlacementDetail['personal_data'] }) {
  return found.map(({ path, kinds }) => (
    <p key={path} className="bar wrapping personal-data">
      <Chip tone="warn">personal data</Chip>
      <span>
        <code>{path}</code> seems to contain {listPersonalKinds(kinds)}.
      </span>
    </p>
  ))
}

/** The file and line of a campaign of your own demand. */
function findSource({ trace }: PlacementDetail): string | null {
  const source = trace.find(({ outcome }) => outcome === 'won')?.source
  return source === undefined ? null : `${source.file}:${source.line}`
}

function SummaryPanel({ placement }: { placement: PlacementDetail }) {
  const { decision } = placement
  return (
    <Panel title="Summary">
      <KeyValues
        pairs={[
          [
            'Outcome',
            <span key="outcome" className="bar wrapping">
              <Chip>{readOutcome(placement)}</Chip>
              <Chip tone="warn">{placement.no_fill_reason}</Chip>
              <Chip tone="warn">{placement.forced && 'forced, never billed'}</Chip>
            </span>,
          ],
          ['Format', placement.format],
          ['Sponsor', decision?.fill ? decision.sponsor_name : null],
          ['Campaign', <Id key="campaign" kind="campaign" id={placement.campaign_id} />],
          ['Written in', findSource(placement)],
          ['Surface', placement.job_type],
          ['Mode', placement.mode],
          ['Topic', placement.topic],
          ['Prompt', placement.prompt_length === null ? null : `${placement.prompt_length} characters, never stored`],
          ['Project', <Id key="project" kind="project" id={placement.client_id} />],
          ['Session', <Id key="session" kind="session" id={placement.session_id} />],
          ['Job', <Id key="job" kind="job" id={placement.job_id} />],
          ['Created', dateAndTime(placement.created_at_ms)],
        ]}
      />
    </Panel>
  )
}

function BillingPanel({ billing }: { billing: NonNullable<PlacementDetail['billing']> }) {
  return (
    <Panel
      title="Billing verdict"
      actions={<Chip tone={billing.would_bill ? 'money' : 'plain'}>{describeBilling(billing).verdict}</Chip>}
    >
      <p>{billing.explanation}</p>
      <KeyValues
        pairs={[
          ['Model', billing.metric.replaceAll('_', ' ')],
          ['Price', billing.gross_cpm === null ? null : `${billing.gross_cpm} ${billing.currency ?? ''} CPM`],
        ]}
      />
    </Panel>
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
