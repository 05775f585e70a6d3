import { useMemo } from 'react'
import { Link } from 'wouter'
import { type SandboxEvent, useRecentEvents } from '../../data/live.ts'
import { Panel } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'

const shownEvents = 12

export function LastEvents() {
  const recent = useRecentEvents()
  const last = useMemo(() => recent.slice(-shownEvents).reverse(), [recent])
  return (
    <Panel
      title="Recent activity"
      actions={
        <Link className="link" href="/requests">
          All requests
        </Link>
      }
    >
      {last.length === 0 ? (
        <Empty icon="timeline" title="Nothing has happened yet">
          Request a placement, or open the demo host.
        </Empty>
      ) : (
        <ol className="event-list">
          {last.map((event) => (
            <li key={event.seq}>
              <EventRow event={event} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

/** One event of the sandbox on a line: when, what, how it ended, and a link to its page. */
function EventRow({ event }: { event: SandboxEvent }) {
  const { type, at_ms, slot_id, client_id, data } = event
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : null)
  const reason = text('reason_code') ?? text('no_fill_reason')
  return (
    <div className="event-row">
      <Time at_ms={at_ms} />
      <span className="bar said">
        <b>{describeEvent(event)}</b>
        <Chip>{readOutcome(event)}</Chip>
        {reason !== null && reason !== 'OK' && <Chip tone={type === 'beacon.rejected' ? 'bad' : 'warn'}>{reason}</Chip>}
        {data.would_bill === true && <Chip tone="money">{`bills ${text('metric') ?? ''}`}</Chip>}
        {data.format !== undefined && data.format !== null && <span className="soft">{String(data.format)}</span>}
      </span>
      {slot_id !== null ? <Id kind="placement" id={slot_id} /> : <Id kind="project" id={client_id} />}
    </div>
  )
}

const wordings: Readonly<Record<SandboxEvent['type'], string>> = {
  'job.created': 'Job created',
  'placement.decided': 'Decision',
  'frame.loaded': 'Frame loaded',
  'beacon.accepted': 'Beacon',
  'beacon.duplicate': 'Beacon',
  'beacon.rejected': 'Beacon',
  'callback.delivered': 'Callback delivered',
  'callback.retried': 'Callback retried',
  'callback.failed': 'Callback failed',
  'ticket.issued': 'Ticket issued',
  'socket.opened': 'Socket opened',
  'socket.sent': 'Socket sent',
  'socket.closed': 'Socket closed',
  'consent.changed': 'Consent changed',
  'browser.activated': 'Browser activated',
  'sandbox.reset': 'Sandbox reset',
  'sandbox.restored': 'Sandbox restored',
  'clock.changed': 'Clock changed',
  'events.dropped': 'Older events dropped',
}

function describeEvent({ type, data }: SandboxEvent): string {
  const name = wordings[type] ?? type
  return typeof data.event === 'string' && type.startsWith('beacon.') ? `${name} ${data.event}` : name
}

/** Returns the state that an event led to, in the words of the contract. */
function readOutcome({ type, data }: SandboxEvent): string | null {
  if (type === 'placement.decided') return data.fill === true ? 'fill' : 'no_fill'
  if (type.startsWith('beacon.')) return typeof data.verdict === 'string' ? data.verdict : null
  return typeof data.lifecycle_state === 'string' ? data.lifecycle_state : null
}
