import { useEffect, useRef, useState } from 'react'
import { isReplaced, type SandboxEvent, useRecentEvents } from '../data/live.ts'
import { useResource } from '../data/resource.ts'
import { useSession } from '../data/session.ts'
import { Chart } from './Chart.tsx'
import { Figure, type Filters } from './Figures.tsx'
import { Panel } from './Panel.tsx'

const shownS = 60

export interface Rate {
  name: string
  /** A custom property of the theme: `--good`. */
  color: string
  isCounted(event: SandboxEvent): boolean
  /** The rows that the last minute of it opens. */
  list: 'placements' | 'beacons'
  filters: Filters
}

/** How often each rate was counted in one second of this computer's clock. */
interface Second {
  at_s: number
  counts: readonly number[]
}

export function LastMinute({ rates }: { rates: readonly Rate[] }) {
  const seconds = useSeconds(rates)
  return (
    <Panel title="The last minute" className="last-minute">
      <dl className="figures">
        {rates.map(({ name, color, list, filters }, index) => {
          const sum = seconds.reduce((total, { counts }) => total + (counts[index] ?? 0), 0)
          return (
            <div key={name}>
              <dt className="soft bar">
                <span className="swatch" style={{ background: `var(${color})` }} />
                {name}
              </dt>
              <dd>
                <Figure count={sum} list={list} filters={{ ...filters, since: '1m' }} />{' '}
                <span className="faint tiny">{(sum / shownS).toFixed(1)}/s</span>
              </dd>
            </div>
          )
        })}
      </dl>
      <Chart
        label={`${rates.map(({ name }) => name).join(', ')}: each second of the last minute`}
        times_ms={seconds.map(({ at_s }) => at_s * 1000)}
        series={rates.map(({ name, color }, index) => ({
          label: name,
          color,
          values: seconds.map(({ counts }) => counts[index] ?? 0),
        }))}
        height_px={72}
        isSparkline
      />
    </Panel>
  )
}

/** Events from before the view was opened are counted by their own time, later ones as they arrive. */
function useSeconds(rates: readonly Rate[]): readonly Second[] {
  const [seconds, setSeconds] = useState<readonly Second[]>(() => lastMinute([]))
  const recent = useRecentEvents()
  const { last_event_seq } = useSession()
  const past_seq = useRef(Math.max(last_event_seq, recent.at(-1)?.seq ?? 0))
  const counted_seq = useRef(0)
  const { state: clock } = useResource('clock.show', {})
  // The sandbox clock may be months ahead of this computer's.
  const offset_ms = useRef<number>(undefined)
  if (clock.status === 'ready') offset_ms.current ??= clock.data.now_ms - Date.now()
  const isReady = clock.status === 'ready'
  useEffect(() => {
    if (recent.length === 0) {
      // At first, and after another start of the sandbox, which may number its events from 1 again.
      counted_seq.current = 0
      past_seq.current = last_event_seq
      setSeconds(lastMinute([]))
      return
    }
    if (!isReady) return
    const added = recent.filter(({ seq }) => seq > counted_seq.current)
    if (added.length === 0) return
    counted_seq.current = added.at(-1)?.seq ?? 0
    const now_ms = Date.now()
    setSeconds((before) => {
      const next = lastMinute(added.some(isReplaced) ? [] : before)
      const bySecond = new Map(next.map(({ at_s }, index) => [at_s, index]))
      for (const event of added) {
        const at_ms = event.seq > past_seq.current ? now_ms : event.at_ms - (offset_ms.current ?? 0)
        const index = bySecond.get(Math.floor(Math.min(at_ms, now_ms) / 1000))
        const second = index === undefined ? undefined : next[index]
        if (index === undefined || second === undefined) continue
        const counts = rates.map((rate, place) => (second.counts[place] ?? 0) + (rate.isCounted(event) ? 1 : 0))
        next[index] = { ...second, counts }
      }
      return next
    })
  }, [recent, isReady, last_event_seq, rates])
  useEffect(() => {
    const timer = setInterval(() => setSeconds(lastMinute), 1000)
    return () => clearInterval(timer)
  }, [])
  return seconds
}

/** Returns one entry for each second of the last minute, with the counts known so far. */
function lastMinute(known: readonly Second[]): Second[] {
  const now_s = Math.floor(Date.now() / 1000)
  const bySecond = new Map(known.map((second) => [second.at_s, second]))
  return Array.from({ length: shownS }, (_, index) => {
    const at_s = now_s - shownS + 1 + index
    return bySecond.get(at_s) ?? { at_s, counts: [] }
  })
}
