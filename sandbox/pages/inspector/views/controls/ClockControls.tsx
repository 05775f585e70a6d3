/** The sandbox clock: frozen, moved, or sped up. */
import { useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import type { SandboxClock } from '#contract/resources/sandbox/clock.ts'
import { parseDuration } from '#foundation/duration.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments, SubmitForm, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { useSandboxTime } from '../../parts/values/Time.tsx'
import { duration } from '../../parts/values/times.ts'

const steps: readonly (readonly [label: string, by_ms: number])[] = [
  ['1 second', 1_000],
  ['1 minute', 60_000],
  ['5 minutes', 300_000],
  ['1 hour', 3_600_000],
  ['1 day', 86_400_000],
  ['30 days', 30 * 86_400_000],
]

const speeds = [
  ['1', '1×'],
  ['10', '10×'],
  ['60', '60×'],
  ['3600', '3,600×'],
] as const
type Speed = (typeof speeds)[number][0]

/** A faster clock is moved this often. */
const tickMs = 500

export function ClockControls() {
  const resource = useResource('clock.show', {}, ({ type }) => type === 'clock.changed')
  const action = useAction(resource.reload)
  return (
    <Shown resource={resource}>
      {(clock) => (
        <div className="columns even">
          <TimePanel clock={clock} action={action} />
          <MovePanel action={action} />
        </div>
      )}
    </Shown>
  )
}

function TimePanel({ clock, action }: { clock: SandboxClock; action: Action }) {
  const [speed, setSpeed] = useQuickClock(action)
  return (
    <Panel
      title="Sandbox time"
      actions={<Chip tone={clock.frozen ? 'warn' : 'good'}>{clock.frozen ? 'frozen' : 'running'}</Chip>}
    >
      <TimeDisplay clock={clock} />
      <div className="bar wrap-line">
        {clock.frozen ? (
          <Button
            className="small primary bar"
            onPress={() => action.run(() => call('clock.resume', { body: {} }), 'The clock runs again.')}
          >
            <Icon name="playground" /> Resume
          </Button>
        ) : (
          <Button
            className="small bar"
            onPress={() => action.run(() => call('clock.freeze', { body: {} }), 'The clock is frozen.')}
          >
            <Icon name="stop" /> Freeze
          </Button>
        )}
        <Button
          className="small"
          isDisabled={clock.offset_ms === 0 && !clock.frozen}
          onPress={() =>
            action.run(() => call('clock.set', { body: { to_ms: null } }), 'The clock follows system time again.')
          }
        >
          Back to system time
        </Button>
      </div>
      <Segments
        label="Speed"
        value={speed}
        onChange={setSpeed}
        values={speeds}
        hint="Moved forward twice a second while this page is open."
      />
      <Outcome action={action} />
    </Panel>
  )
}

function MovePanel({ action }: { action: Action }) {
  const [by, setBy] = useState('')
  const [to, setTo] = useState('')
  const by_ms = parseSpan(by)
  const to_ms = parseTime(to)
  return (
    <Panel title="Move" lead="Whatever becomes due happens before the response: decisions, expiries, callbacks.">
      <fieldset className="bar wrap-line">
        <legend className="label soft">Advance by</legend>
        {steps.map(([label, ms]) => (
          <Button
            key={label}
            className="small"
            onPress={() => action.run(() => call('clock.advance', { body: { by_ms: ms } }), `Advanced by ${label}.`)}
          >
            {label}
          </Button>
        ))}
      </fieldset>
      <SubmitForm
        className="form-line"
        onSubmit={() =>
          by_ms !== null &&
          action.run(() => call('clock.advance', { body: { by_ms } }), `Advanced by ${duration(by_ms)}.`)
        }
      >
        <TextInput
          label="Custom duration"
          value={by}
          onChange={setBy}
          placeholder="90s, 15m, 2h, 3d"
          problem={by !== '' && by_ms === null ? 'Enter a duration such as 90s, 15m, 2h or 3d.' : undefined}
        />
        <Button type="submit" className="small" isDisabled={by_ms === null}>
          Advance
        </Button>
      </SubmitForm>
      <SubmitForm
        className="form-line"
        onSubmit={() =>
          to_ms !== null &&
          action.run(() => call('clock.set', { body: { to_ms } }), `Set to ${new Date(to_ms).toISOString()}.`)
        }
      >
        <TextInput
          label="Set to a time"
          value={to}
          onChange={setTo}
          placeholder="2027-01-31T12:00:00Z or epoch milliseconds"
          hint="May be in the past; nothing is undone."
          problem={to !== '' && to_ms === null ? 'Enter a time such as 2027-01-31T12:00:00Z.' : undefined}
        />
        <Button type="submit" className="small" isDisabled={to_ms === null}>
          Set
        </Button>
      </SubmitForm>
    </Panel>
  )
}

/** The time now, ticking with the clock that was read. */
function TimeDisplay({ clock }: { clock: SandboxClock }) {
  const date = new Date(useSandboxTime(clock) ?? clock.now_ms)
  return (
    <div className="clock-face">
      <p className="clock-time">{date.toISOString().slice(11, 19)}</p>
      <p className="soft">
        {date.toLocaleDateString('en', { dateStyle: 'full', timeZone: 'UTC' })}, UTC ·{' '}
        {clock.offset_ms === 0
          ? 'system time'
          : `${duration(Math.abs(clock.offset_ms))} ${clock.offset_ms > 0 ? 'ahead of' : 'behind'} the system`}
      </p>
    </div>
  )
}

/** Advances the clock while a speed above 1 is chosen and this page is open. */
function useQuickClock(action: Action): [Speed, (speed: Speed) => void] {
  const [speed, setSpeed] = useState<Speed>('1')
  const failed = useRef(action.run)
  failed.current = action.run
  useEffect(() => {
    if (speed === '1') return
    let isOver = false
    let timer: ReturnType<typeof setTimeout>
    let last = performance.now()
    const move = async () => {
      const now = performance.now()
      const by_ms = Math.round((now - last) * (Number(speed) - 1))
      last = now
      try {
        await call('clock.advance', { body: { by_ms } })
      } catch (error) {
        setSpeed('1')
        void failed.current(() => Promise.reject(error))
        return
      }
      if (!isOver) timer = setTimeout(move, tickMs)
    }
    timer = setTimeout(move, tickMs)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [speed])
  return [speed, setSpeed]
}

/** Returns the milliseconds of a span, or null for a text that is not a span. */
function parseSpan(text: string): number | null {
  const ms = text.trim() === '' ? null : parseDuration(text.trim())
  return ms === null || ms < 0 ? null : ms
}

function parseTime(text: string): number | null {
  const trimmed = text.trim()
  const ms = /^\d{10,15}$/.test(trimmed) ? Number(trimmed) : trimmed === '' ? Number.NaN : Date.parse(trimmed)
  return Number.isNaN(ms) || ms < 0 ? null : ms
}
