import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { useResource } from '../../data/resource.ts'
import { DialogButton } from '../../parts/Dialog.tsx'
import { SubmitForm, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { StatusChip } from '../../parts/values/Chip.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'

interface CompareDialogProps {
  entry: RequestDetail
  onChoose(request_id: string): void
}

/** Chooses among the newest requests of the same path, or by an identifier. */
export function CompareDialog({ entry, onChoose }: CompareDialogProps) {
  return (
    <DialogButton icon="again" label="Compare" title="Compare with">
      {(close) => (
        <Candidates
          entry={entry}
          choose={(id) => {
            close()
            onChoose(id)
          }}
        />
      )}
    </DialogButton>
  )
}

interface CandidatesProps {
  entry: RequestDetail
  choose(request_id: string): void
}

function Candidates({ entry, choose }: CandidatesProps) {
  const path = entry.path.split('?', 1)[0] ?? ''
  const query = { path: path.slice(0, 256), method: entry.method, limit: 12 }
  const resource = useResource('requests.list', { query })
  const [id, setId] = useState('')
  return (
    <>
      <SubmitForm className="bar form-line" onSubmit={() => id.trim() !== '' && choose(id.trim())}>
        <div className="grow">
          <TextInput label="Request" value={id} onChange={setId} placeholder="req_..." isCode />
        </div>
        <Button type="submit" className="small primary" isDisabled={id.trim() === ''}>
          Compare
        </Button>
      </SubmitForm>
      <Shown resource={resource}>
        {({ items }) => {
          const others = items.filter(({ request_id }) => request_id !== entry.request_id)
          if (others.length === 0) return <Empty title={`No other ${entry.method} to this path`} />
          return (
            <ul className="picks scroller">
              {others.map((item) => (
                <li key={item.request_id}>
                  <Button className="pick bar" onPress={() => choose(item.request_id)}>
                    <Time at_ms={item.at_ms} />
                    <StatusChip status={item.status} text={item.status === 0 ? 'none' : null} />
                    <code className="clipped grow">{item.reason_code ?? item.session_id ?? item.path}</code>
                    <code className="faint">{item.request_id}</code>
                  </Button>
                </li>
              ))}
            </ul>
          )
        }}
      </Shown>
    </>
  )
}

export function CompareLink({ id, with_id }: { id: string; with_id: string }) {
  return (
    <Link className="small bar" href={`${routeTo('request', id)}?with=${encodeURIComponent(with_id)}`}>
      <Icon name="again" /> Compare
    </Link>
  )
}
