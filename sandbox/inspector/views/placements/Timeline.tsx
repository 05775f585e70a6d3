/** What happened to a slot, in its order: request, decision, frame, beacons, verdict. */
import type { PlacementDetail } from '../../../../src/contract/control/placements.ts'
import { Chip, type Tone } from '../../parts/Chip.tsx'
import { Time } from '../../parts/Time.tsx'
import { outcomeOf } from './PlacementTable.tsx'

interface Step {
  at_ms: number
  title: string
  text?: string
  tone: Tone
  chips: readonly (readonly [text: string, tone?: Tone])[]
}

const tones: Readonly<Record<string, Tone>> = { accepted: 'good', duplicate: 'warn', rejected: 'bad' }

function stepsOf(placement: PlacementDetail): Step[] {
  const { created_at_ms, decided_at_ms, first_frame_at_ms, decision, beacons } = placement
  const steps: Step[] = [
    {
      at_ms: created_at_ms,
      title: 'Requested',
      text: `${placement.job_type}, ${placement.mode} mode`,
      tone: 'plain',
      chips: [],
    },
  ]
  if (decided_at_ms !== null) {
    steps.push({
      at_ms: decided_at_ms,
      title: placement.fill ? 'Filled' : 'Not filled',
      ...(decision?.fill === true && { text: `${decision.sponsor_name}, ${decision.format}` }),
      tone: placement.fill ? 'good' : 'warn',
      chips: placement.no_fill_reason === null ? [] : [[placement.no_fill_reason, 'warn']],
    })
  }
  if (first_frame_at_ms !== null)
    steps.push({ at_ms: first_frame_at_ms, title: 'Frame loaded', tone: 'plain', chips: [] })
  for (const { received_at_ms, event, verdict, reason_code, would_bill, metric } of beacons) {
    steps.push({
      at_ms: received_at_ms,
      title: `Beacon ${event ?? 'unreadable'}`,
      tone: tones[verdict] ?? 'plain',
      chips: [
        [verdict],
        ...(reason_code === 'OK' ? [] : [[reason_code, verdict === 'rejected' ? 'bad' : 'warn'] as const]),
        ...(would_bill ? [[`bills ${metric ?? ''}`, 'money'] as const] : []),
      ],
    })
  }
  return steps.toSorted((a, b) => a.at_ms - b.at_ms)
}

export function Timeline({ placement }: { placement: PlacementDetail }) {
  const steps = stepsOf(placement)
  const isPending = outcomeOf(placement) === 'pending'
  return (
    <ol className="steps">
      {steps.map(({ at_ms, title, text, tone, chips }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only added at their time, and have no state
        <li key={index} data-tone={tone}>
          <Time at_ms={at_ms} {...(index > 0 && { since_ms: placement.created_at_ms })} />
          <span className="bar said">
            <b>{title}</b>
            {text !== undefined && <span className="soft">{text}</span>}
            {chips.map(([chip, chipTone]) => (
              <Chip key={chip} {...(chipTone !== undefined && { tone: chipTone })}>
                {chip}
              </Chip>
            ))}
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
