import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { TraceStep } from '#contract/resources/placements.ts'
import { Icon } from '../../parts/Icon.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'

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
export function TraceFunnel({ trace }: { trace: readonly TraceStep[] }) {
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
