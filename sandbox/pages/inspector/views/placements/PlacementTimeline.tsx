import type { ReactNode } from 'react'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import { describeBilling } from '#contract/words/billing.ts'
import { Chip, findTone, type Tone } from '../../parts/values/Chip.tsx'
import { Time } from '../../parts/values/Time.tsx'
import { VerdictChips } from '../beacons/BeaconTable.tsx'
import { readOutcome } from './PlacementsPage.tsx'

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
export function Timeline({ placement }: { placement: PlacementDetail }) {
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
            <b>{describeBilling(placement.billing).verdict}</b>
            <span className="soft">{placement.billing.explanation}</span>
          </span>
        </li>
      )}
    </ol>
  )
}
