/** The differences of two exchanges, part by part. */
import { useState } from 'react'
import { Button, Switch } from 'react-aria-components'
import type { RequestDetail } from '#contract/resources/requests.ts'
import type { Json } from '#foundation/json.ts'
import { useResource } from '../../data/resource.ts'
import { Icon } from '../../parts/Icon.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { Time } from '../../parts/values/Time.tsx'
import { type ComparedPart, compareEntries, type Difference } from './differences.ts'

interface ComparisonProps {
  entry: RequestDetail
  other_id: string
  close(): void
}

export function Comparison({ entry, other_id, close }: ComparisonProps) {
  const resource = useResource('requests.show', { params: { request_id: other_id } })
  const [isWhole, setWhole] = useState(false)
  return (
    <Panel
      title="Differences"
      className="comparison"
      actions={
        <>
          <Switch className="switch bar label" isSelected={isWhole} onChange={setWhole}>
            <span className="switch-track" /> Show equal values
          </Switch>
          <Button className="copy soft" aria-label="Close differences" onPress={close}>
            <Icon name="close" />
          </Button>
        </>
      }
    >
      <Shown
        resource={resource}
        missing={<Empty icon="requests" title={`Request ${other_id} is not in the journal`} />}
      >
        {(other) => (
          <>
            <div className="bar diff-heads label">
              <span className="bar">
                <Icon name="remove" /> <Id kind="request" id={other.request_id} /> <Time at_ms={other.at_ms} />
              </span>
              <span className="bar">
                <Icon name="add" /> <Id kind="request" id={entry.request_id} /> <Time at_ms={entry.at_ms} />
              </span>
            </div>
            {compareEntries(other, entry).map((part) => (
              <Part key={part.title} part={part} isWhole={isWhole} />
            ))}
          </>
        )}
      </Shown>
    </Panel>
  )
}

function Part({ part: { title, differences }, isWhole }: { part: ComparedPart; isWhole: boolean }) {
  const changed = differences.filter(({ kind }) => kind !== 'same')
  const shown = isWhole ? differences : changed
  return (
    <section className="diff-part" aria-label={title}>
      <h3 className="bar label">
        {title}
        <Chip tone={changed.length === 0 ? 'plain' : 'warn'}>
          {changed.length === 0 ? 'equal' : `${changed.length} differ`}
        </Chip>
      </h3>
      {shown.length > 0 && (
        <table className="diff">
          <thead className="unseen">
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((difference) => (
              <DifferenceRow key={difference.path} difference={difference} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function DifferenceRow({ difference: { path, kind, before, after } }: { difference: Difference }) {
  return (
    <tr data-kind={kind}>
      <th scope="row">
        <code>{path === '' ? '(everything)' : path}</code>
      </th>
      <td>{before === undefined ? <span className="faint">–</span> : <del>{renderValue(before)}</del>}</td>
      <td>{after === undefined ? <span className="faint">–</span> : <ins>{renderValue(after)}</ins>}</td>
    </tr>
  )
}

function renderValue(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
