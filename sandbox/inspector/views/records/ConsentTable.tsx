/** Revisions of consent by a query of consent.list. */
import type { ReactNode } from 'react'
import type { ConsentItem } from '../../../../src/contract/control/consent.ts'
import { routeTo } from '../../app/identifiers.ts'
import { useList } from '../../data/list.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { Chip, toneOf } from '../../parts/Chip.tsx'
import { type Column, DataTable } from '../../parts/DataTable.tsx'
import { Id } from '../../parts/Id.tsx'
import { dateAndTime } from '../../parts/Time.tsx'

const flag = (isOn: boolean) => <Chip tone={isOn ? 'good' : 'plain'}>{isOn ? 'yes' : 'no'}</Chip>

const columns: readonly Column<ConsentItem>[] = [
  {
    id: 'session_id',
    header: 'Session',
    width: 'minmax(110px, 1.3fr)',
    isNarrow: true,
    cell: ({ session_id }) => <Id kind="session" id={session_id} />,
  },
  {
    id: 'state',
    header: 'State',
    width: 'minmax(104px, 1.2fr)',
    isNarrow: true,
    cell: ({ lifecycle_state, is_current }) => (
      <span className="bar">
        <Chip tone={is_current ? toneOf(lifecycle_state) : 'plain'}>{lifecycle_state}</Chip>
        {!is_current && <span className="faint tiny">replaced</span>}
      </span>
    ),
  },
  { id: 'revision', header: 'Revision', width: '64px', isNumber: true, cell: ({ revision }) => revision },
  {
    id: 'semantic',
    header: 'Topic may match',
    width: '116px',
    cell: ({ semantic_targeting }) => flag(semantic_targeting),
  },
  { id: 'prompt', header: 'Prompt shared', width: '104px', cell: ({ prompt_shared }) => flag(prompt_shared) },
  { id: 'source', header: 'Source', width: 'minmax(80px, 0.8fr)', cell: ({ source }) => source },
  { id: 'expires', header: 'Expires', width: '112px', cell: ({ expires_at_ms }) => dateAndTime(expires_at_ms) },
  {
    id: 'updated',
    header: 'Stored',
    width: '112px',
    isNarrow: true,
    isNumber: true,
    cell: ({ updated_at_ms }) => dateAndTime(updated_at_ms),
  },
]

const keyOf = ({ consent_id, revision }: ConsentItem) => `${consent_id} ${revision}`
const routeOf = ({ consent_id }: ConsentItem) => routeTo('consent', consent_id)
const isAffected = ({ type }: SandboxEvent) => type === 'consent.changed'

export function ConsentTable({ query, empty }: { query: Readonly<Record<string, string>>; empty: ReactNode }) {
  const list = useList<ConsentItem>('consent.list', { query }, { keyOf, isAffected })
  return <DataTable label="Consent" list={list} columns={columns} keyOf={keyOf} routeOf={routeOf} empty={empty} />
}
