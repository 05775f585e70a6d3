/** A list of placements by a query of placements.list. A slot_id shows that one alone. */
import type { ReactNode } from 'react'
import type { PlacementItem } from '../../../../src/contract/control/placements.ts'
import { routeTo } from '../../app/identifiers.ts'
import { useList } from '../../data/list.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Chip } from '../../parts/Chip.tsx'
import { type Column, DataTable } from '../../parts/DataTable.tsx'
import { Id } from '../../parts/Id.tsx'
import { Shown } from '../../parts/States.tsx'
import { dateAndTime, Time } from '../../parts/Time.tsx'

const columns: readonly Column<PlacementItem>[] = [
  {
    id: 'slot_id',
    header: 'Slot',
    width: 'minmax(136px, 1fr)',
    isNarrow: true,
    cell: ({ slot_id }) => <Id kind="placement" id={slot_id} />,
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: 'minmax(112px, 1.3fr)',
    isNarrow: true,
    cell: (item) => (
      <span className="bar">
        <Chip>{outcomeOf(item)}</Chip>
        <Chip tone="warn">{item.no_fill_reason}</Chip>
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '64px', cell: ({ format }) => format ?? <span className="faint">–</span> },
  { id: 'job_type', header: 'Surface', width: '64px', cell: ({ job_type }) => job_type },
  {
    id: 'session_id',
    header: 'Session',
    width: 'minmax(100px, 1fr)',
    cell: ({ session_id }) => <Id kind="session" id={session_id} />,
  },
  { id: 'client_id', header: 'Project', width: 'minmax(84px, 0.7fr)', cell: ({ client_id }) => client_id },
  {
    id: 'decision',
    header: 'Decided in',
    width: '84px',
    isNumber: true,
    cell: ({ created_at_ms, decided_at_ms }) =>
      decided_at_ms === null ? <span className="faint">–</span> : `${decided_at_ms - created_at_ms} ms`,
  },
  {
    id: 'created_at_ms',
    header: 'When',
    width: '104px',
    isNarrow: true,
    isNumber: true,
    cell: ({ created_at_ms }) =>
      isToday(created_at_ms) ? <Time at_ms={created_at_ms} /> : <span>{dateAndTime(created_at_ms)}</span>,
  },
]

/** Returns the outcome of a slot in a word: `fill`, `no_fill`, `pending`, `expired`. */
export function outcomeOf({ fill, status }: Pick<PlacementItem, 'fill' | 'status'>): string {
  if (fill === null) return status
  return fill ? 'fill' : 'no_fill'
}

function isToday(at_ms: number): boolean {
  return new Date(at_ms).toDateString() === new Date().toDateString()
}

const keyOf = ({ slot_id }: PlacementItem) => slot_id
const routeOf = ({ slot_id }: PlacementItem) => routeTo('placement', slot_id)
const isAffected = ({ type }: SandboxEvent) => type === 'placement.decided' || type === 'job.created'

export interface PlacementTableProps {
  query: Readonly<Record<string, string>>
  isLive?: boolean
  empty: ReactNode
}

export function PlacementTable({ query, isLive = true, empty }: PlacementTableProps) {
  const { slot_id } = query
  const list = useList<PlacementItem>('placements.list', slot_id === undefined ? { query } : null, {
    keyOf,
    isAffected,
    isLive,
  })
  const single = useResource('placements.explain', slot_id === undefined ? null : { params: { slot_id } })
  if (slot_id === undefined) {
    return <DataTable label="Placements" list={list} columns={columns} keyOf={keyOf} routeOf={routeOf} empty={empty} />
  }
  return (
    <Shown resource={single} missing={empty}>
      {(item) => (
        <DataTable
          label="Placements"
          list={{ ...list, items: [item], isLoading: false, hasMore: false, problem: null }}
          columns={columns}
          keyOf={keyOf}
          routeOf={routeOf}
        />
      )}
    </Shown>
  )
}
