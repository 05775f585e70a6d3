/** The evidence chains: each entry with its hash, and whether the chain is intact, checked on demand. */
import { useState } from 'react'
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components'
import type { EvidenceEntry, EvidenceItem, EvidenceVerification } from '#contract/resources/evidence.ts'
import { parseJson } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import { isReplaced, useLiveEvents } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { useAction } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Json } from '../../parts/Json.tsx'
import { type Column, idColumn, timeColumn } from '../../parts/lists/columns.tsx'
import { LiveTable, type Table } from '../../parts/lists/DataTable.tsx'
import { createChoice, type ListFilter, projectFilter, slotFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Problem, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { CopyButton } from '../../parts/values/CopyButton.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'

export function EvidencePage({ id }: { id: string }) {
  return id === '' ? <Chains /> : <ChainEntry id={id} />
}

const columns: readonly Column<EvidenceItem>[] = [
  {
    id: 'seq',
    header: 'Entry',
    width: 'minmax(110px, 0.8fr)',
    isNarrow: true,
    cell: ({ client_id, seq }) => (
      <Id kind="evidence" id={`${client_id}~${seq}`}>
        {`${client_id} ${seq}`}
      </Id>
    ),
  },
  { id: 'kind', header: 'Kind', width: '84px', isNarrow: true, cell: ({ kind }) => <Chip>{kind}</Chip> },
  idColumn('slot_id', 'Slot', 'placement', 'minmax(136px, 0.8fr)'),
  {
    id: 'hash',
    header: 'Hash',
    width: 'minmax(110px, 2fr)',
    cell: ({ hash }) => <code className="faint small-code">{hash}</code>,
  },
  timeColumn('at_ms'),
]

const filters: readonly ListFilter[] = [
  slotFilter,
  createChoice('kind', 'Kind', ['decision', 'consent', 'beacon']),
  projectFilter,
]

const getKey = ({ client_id, seq }: EvidenceItem) => `${client_id}~${seq}`
const recorded = new Set(['placement.decided', 'consent.changed', 'beacon.accepted'])

const table: Table<EvidenceItem> = {
  id: 'evidence.list',
  label: 'Evidence',
  columns,
  getKey,
  getRoute: (item) => routeTo('evidence', getKey(item)),
  isAffected: ({ type }) => recorded.has(type),
}

function Chains() {
  return (
    <ListPage
      title="Evidence"
      filters={filters}
      noun="entry"
      empty={
        <Empty icon="chain" title="No evidence">
          Decisions, consent and accepted beacons are recorded.
        </Empty>
      }
      above={() => <Verification />}
    >
      {(query, listed) => <LiveTable table={table} query={query} {...listed} />}
    </ListPage>
  )
}

/** Reads every entry of every chain, so it runs only on request. */
function Verification() {
  const [result, setResult] = useState<EvidenceVerification | null>(null)
  const { isRunning, problem, run } = useAction()
  useLiveEvents((events) => events.some(isReplaced) && setResult(null))
  const verify = () => {
    setResult(null)
    return run(async () => setResult(await call('evidence.verify')), '')
  }
  return (
    <div className="verification" role="status">
      <Button className="small primary bar" onPress={verify} isDisabled={isRunning}>
        <Icon name="shield" />
        {isRunning ? 'Verifying' : 'Verify all chains'}
      </Button>
      {problem !== null && <Problem problem={problem} retry={verify} />}
      {result !== null && (
        <ul className="bar wrapping">
          {result.chains.map(({ client_id, entries, broken_at, problem, verified_before = 0 }) => (
            <li key={client_id} className="bar wrapping">
              <Chip tone={broken_at === null && problem === null ? 'good' : 'bad'}>
                {broken_at === null && problem === null ? 'holds' : 'broken'}
              </Chip>
              <span>
                {client_id}, {entries.toLocaleString('en')} {entries === 1 ? 'entry' : 'entries'}
                {verified_before > 0 && `, ${verified_before.toLocaleString('en')} of them verified before`}
              </span>
              {broken_at !== null && (
                <Id kind="evidence" id={`${client_id}~${broken_at}`}>{`first broken entry: ${broken_at}`}</Id>
              )}
              {problem !== null && <span className="soft">{problem}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The entries around one, so that each hash is next to the one before it. */
const around = 3

function ChainEntry({ id }: { id: string }) {
  const [client_id = '', position = ''] = id.split(/~(?=\d+$)/)
  const seq = Number(position)
  const after_seq = Math.max(0, seq - around - 1)
  const resource = useResource('evidence.export', {
    params: { client_id },
    query: { after_seq, limit: 2 * around + 1, checkpoint: 'false' },
  })
  return (
    <Page title={id} copies="name of this entry" lead={`Entry ${seq} of the ${client_id} chain, with its neighbors`}>
      <Shown resource={resource} missing={<Empty icon="chain" title="No such project" />}>
        {({ entries, next_seq }) =>
          entries.some((entry) => entry.seq === seq) ? (
            <Panel
              title="Chain"
              lead={next_seq === null ? `The chain ends with entry ${entries.at(-1)!.seq}.` : undefined}
            >
              <EvidenceEntries entries={entries} client_id={client_id} opened_seq={seq} />
            </Panel>
          ) : (
            <Empty icon="chain" title="No such entry in the chain" />
          )
        }
      </Shown>
    </Page>
  )
}

interface EvidenceEntriesProps {
  entries: readonly EvidenceEntry[]
  client_id: string
  /** The entry that is open from the start. */
  opened_seq?: number
}

export function EvidenceEntries({ entries, client_id, opened_seq }: EvidenceEntriesProps) {
  if (entries.length === 0) return <p className="soft">None.</p>
  return (
    <ol className="chain">
      {entries.map((entry) => (
        <li key={entry.seq}>
          <Disclosure defaultExpanded={entry.seq === opened_seq}>
            <Heading className="chain-head">
              <Button slot="trigger" className="chain-row">
                <Icon name="chevron" />
                <span className="number faint">{entry.seq}</span>
                <Chip tone="plain">{entry.kind}</Chip>
                <Time at_ms={entry.at_ms} />
                <code className="clipped faint">{entry.hash}</code>
              </Button>
            </Heading>
            <DisclosurePanel className="chain-detail">
              <p className="bar wrapping">
                <Id kind="evidence" id={`${client_id}~${entry.seq}`} />
                <CopyButton text={entry.hash} label="Copy the hash" />
                <CopyButton text={entry.entry} label="Copy the canonical JSON" />
              </p>
              <Json value={parseJson(entry.entry) ?? entry.entry} label="the entry" />
            </DisclosurePanel>
          </Disclosure>
        </li>
      ))}
    </ol>
  )
}
