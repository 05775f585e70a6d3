import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { ReplayResult, RequestDetail } from '#contract/resources/requests.ts'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Chip, StatusChip } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { CompareLink } from './CompareDialog.tsx'
import { differences } from './differences.ts'

export function Replay({ entry }: { entry: RequestDetail }) {
  const sent = parseJson(entry.request_body ?? '')
  const original = isObject(sent) ? JSON.stringify(sent, null, 2) : ''
  const [text, setText] = useState(original)
  const [key_id, setKey] = useState('')
  const [result, setResult] = useState<ReplayResult | null>(null)
  const action = useAction()
  const edits = readEdits(isObject(sent) ? sent : {}, text)
  const edited = Object.keys(edits.set).length

  const replay = () =>
    action.run(async () => {
      setResult(null)
      const body = { ...(edited > 0 && { set: edits.set }), ...(key_id !== '' && { key_id }) }
      const replayed = await call('requests.replay', { params: { request_id: entry.request_id }, body })
      setResult(replayed)
      return `Sent again as ${replayed.exchange.request_id}.`
    })

  return (
    <Panel
      title="Replay"
      lead="The sandbox sends the request again with the same key and new tokens. Prompt text is never stored, so it is left out."
    >
      <div className="replay pad">
        {isObject(sent) && (
          <TextInput
            label="Body"
            value={text}
            onChange={setText}
            rows={Math.min(16, Math.max(4, text.split('\n').length))}
            isCode
            hint="Change values or add fields. Fields that you remove are still sent."
            problem={edits.problem}
          />
        )}
        <div className="bar replay-actions">
          {entry.client_id !== null && <KeyChoice client_id={entry.client_id} value={key_id} onChange={setKey} />}
          <Button
            className="small primary bar"
            isDisabled={action.isRunning || edits.problem !== undefined}
            onPress={replay}
          >
            <Icon name="send" />
            {edited === 0 ? 'Replay' : `Replay with ${edited} ${edited === 1 ? 'edit' : 'edits'}`}
          </Button>
          {text !== original && (
            <Button className="small quiet" onPress={() => setText(original)}>
              Undo edits
            </Button>
          )}
        </div>
        <Outcome action={action} />
        {result !== null && <Replayed result={result} />}
      </div>
    </Panel>
  )
}

function Replayed({ result: { exchange, not_restored, replayed, status_before } }: { result: ReplayResult }) {
  return (
    <div className="box replayed">
      <div className="bar wrap-line">
        <Id kind="request" id={exchange.request_id} isCopied />
        <StatusChip status={status_before} />
        <span aria-hidden="true">→</span>
        <StatusChip status={exchange.status} />
        <Chip tone="bad">{exchange.reason_code}</Chip>
        <CompareLink id={exchange.request_id} with_id={replayed} />
      </div>
      {not_restored.length > 0 && (
        <ul className="soft label">
          {not_restored.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface KeyChoiceProps {
  client_id: string
  value: string
  onChange(key_id: string): void
}

function KeyChoice({ client_id, value, onChange }: KeyChoiceProps) {
  const { state } = useResource('keys.list', { params: { client_id } })
  const keys = state.status === 'ready' ? state.data.items.filter(({ revoked_at_ms }) => revoked_at_ms === null) : []
  const values = keys.map((key) => [key.key_id, `${key.class} ${key.mode}, ${key.key_id}`] as const)
  return <SelectInput label="Key" value={value} onChange={onChange} values={[['', 'the same key'], ...values]} />
}

/** Returns the values that differ from the sent ones, by dotted path. */
function readEdits(sent: JsonObject, text: string): { set: Record<string, Json>; problem: string | undefined } {
  if (text.trim() === '') return { set: {}, problem: undefined }
  const edited = parseJson(text)
  if (!isObject(edited)) return { set: {}, problem: 'Enter a JSON object.' }
  const set = Object.fromEntries(
    differences(sent, edited).flatMap(({ path, kind, after }) =>
      kind === 'same' || kind === 'removed' || after === undefined ? [] : [[path, after]],
    ),
  )
  return { set, problem: undefined }
}
