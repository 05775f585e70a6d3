/** Evidence entries with their hashes. */
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components'
import type { EvidenceEntry } from '../../../../src/contract/control/evidence.ts'
import { parseJson } from '../../../../src/foundation/json.ts'
import { Chip } from '../../parts/Chip.tsx'
import { CopyButton } from '../../parts/CopyButton.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Id } from '../../parts/Id.tsx'
import { Json } from '../../parts/Json.tsx'
import { Time } from '../../parts/Time.tsx'

export interface EvidenceEntriesProps {
  entries: readonly EvidenceEntry[]
  client_id: string
  /** The position of an entry that does not hold. */
  broken_at?: number | null
}

export function EvidenceEntries({ entries, client_id, broken_at = null }: EvidenceEntriesProps) {
  if (entries.length === 0) return <p className="soft">None.</p>
  return (
    <ol className="chain">
      {entries.map((entry) => (
        <li key={entry.seq} data-broken={entry.seq === broken_at || undefined}>
          <Disclosure>
            <Heading className="chain-head">
              <Button slot="trigger" className="chain-row">
                <Icon name="chevron" />
                <span className="number faint">{entry.seq}</span>
                <Chip tone={entry.seq === broken_at ? 'bad' : 'plain'}>{entry.kind}</Chip>
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
