/** The differences of two exchanges, part by part, and the dialog that chooses the other one. */
import { useState } from 'react'
import { Button, Switch } from 'react-aria-components'
import { Link } from 'wouter'
import type { RequestDetail } from '#contract/resources/requests.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import { useResource } from '../../data/resource.ts'
import { DialogButton } from '../../parts/Dialog.tsx'
import { SubmitForm, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Empty, Panel, Shown } from '../../parts/Page.tsx'
import { Chip, Id, routeTo, StatusChip, Time } from '../../parts/Values.tsx'

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

/** A link to another request, with the one it is compared with. */
export function CompareLink({ id, with_id }: { id: string; with_id: string }) {
  return (
    <Link className="small bar" href={`${routeTo('request', id)}?with=${encodeURIComponent(with_id)}`}>
      <Icon name="again" /> Compare
    </Link>
  )
}

interface Difference {
  /** Dotted; numbers index arrays. Empty for the whole value. */
  path: string
  kind: 'added' | 'removed' | 'changed' | 'same'
  before?: Json
  after?: Json
}

/** Returns every value at the end of a path, of either side, in the order of the first and then of the second. */
export function differences(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  if (before === undefined && after === undefined) return []
  const [left, right] = [listFields(before), listFields(after)]
  const isNested = (left !== null || before === undefined) && (right !== null || after === undefined)
  const isSameShape = before === undefined || after === undefined || Array.isArray(before) === Array.isArray(after)
  if (isNested && isSameShape) {
    const names = [...new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])]
    if (names.length > 0) {
      return names.flatMap((name) =>
        differences(left?.get(name), right?.get(name), path === '' ? name : `${path}.${name}`),
      )
    }
  }
  if (before === undefined) return [{ path, kind: 'added', after: after! }]
  if (after === undefined) return [{ path, kind: 'removed', before }]
  return [{ path, kind: JSON.stringify(before) === JSON.stringify(after) ? 'same' : 'changed', before, after }]
}

function listFields(value: Json | undefined): Map<string, Json> | null {
  if (Array.isArray(value)) return new Map(value.map((item, index) => [String(index), item]))
  return isObject(value) ? new Map(Object.entries(value)) : null
}

type ComparedEntry = Pick<
  RequestDetail,
  | 'method'
  | 'path'
  | 'status'
  | 'reason_code'
  | 'key'
  | 'request_headers'
  | 'request_body'
  | 'response_headers'
  | 'response_body'
>

interface ComparedPart {
  title: string
  differences: Difference[]
}

/** Returns the parts of two entries side by side: summary, headers and bodies. Bodies that are not JSON are one text. */
export function compareEntries(before: ComparedEntry, after: ComparedEntry): ComparedPart[] {
  const parts: [title: string, of: (entry: ComparedEntry) => Json | undefined][] = [
    ['Summary', ({ method, path, status, reason_code, key }) => ({ method, path, status, reason_code, key })],
    ['Request headers', ({ request_headers }) => ({ ...request_headers })],
    ['Request body', ({ request_body }) => parseText(request_body)],
    ['Response headers', ({ response_headers }) => ({ ...response_headers })],
    ['Response body', ({ response_body }) => parseText(response_body)],
  ]
  return parts.map(([title, of]) => ({ title, differences: differences(of(before), of(after)) }))
}

function parseText(text: string | null): Json | undefined {
  if (text === null || text === '') return undefined
  return parseJson(text) ?? text
}
