/** Fault rules: a network or a service that fails on demand. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { FaultDraft, FaultEffect, FaultRule } from '#contract/resources/sandbox/faults.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { ConfirmButton } from '../../parts/ConfirmButton.tsx'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, SubmitForm, TextInput, Toggle } from '../../parts/Fields.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'

const effects: readonly (readonly [effect: FaultEffect, label: string])[] = [
  ['error', 'an error response'],
  ['delay', 'a delay'],
  ['drop', 'no response'],
  ['reset', 'a reset connection'],
  ['truncate', 'half of the response'],
  ['garble', 'a response that is not JSON'],
  ['rewrite', 'other fields in the response'],
]

/** Text fields of a rule, with the example that they show. */
const texts = [
  ['path', 'Path', '/v1/beacons', 'Matches as a prefix; with a *, as the whole path.'],
  ['session_id', 'Session', 'any', undefined],
  ['key', 'Key or token starts with', 'sk_test_', undefined],
] as const

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const)

const numbers = [
  ['status', 'Status', '503', 'error'],
  ['retry_after_s', 'Retry-After, seconds', '1', 'error'],
  ['latency_ms', 'Wait before the response, ms', '0', ''],
  ['rate', 'Share of requests', '1', ''],
  ['after', 'Let pass first', '0', ''],
  ['times', 'Maximum number', 'no limit', ''],
  ['ttl_ms', 'Ends after, ms', 'never', ''],
] as const

type Draft = Readonly<Record<string, string>>

export function FaultControls() {
  const resource = useResource('faults.list', {}, ({ type }) => type === 'job.created')
  const action = useAction(resource.reload)
  return (
    <div className="columns">
      <Panel
        title="Fault rules"
        lead="The first rule that applies to a request decides. Newest first."
        actions={
          resource.state.status === 'ready' &&
          resource.state.data.items.length > 0 && (
            <ConfirmButton
              title="Remove all fault rules?"
              text="This includes the rules of a scenario; its other changes stay in effect."
              confirm="Remove all"
              onConfirm={() => action.run(() => call('faults.clear'), 'All fault rules were removed.')}
            />
          )
        }
      >
        <Outcome action={action} />
        <Shown resource={resource}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty icon="shield" title="No fault rules: all requests are served">
                Add one, or use a scenario that adds them.
              </Empty>
            ) : (
              <ul className="cards">
                {items.map((rule) => (
                  <Rule key={rule.fault_id} rule={rule} action={action} />
                ))}
              </ul>
            )
          }
        </Shown>
      </Panel>
      <AddRule add={(draft) => action.run(() => call('faults.add', { body: draft }), 'The rule was added.')} />
    </div>
  )
}

function Rule({ rule, action }: { rule: FaultRule; action: Action }) {
  const { fault_id, effect, status, reason_code, scenario, matched, injected } = rule
  const conditions = [
    rule.method,
    rule.path,
    rule.key && `key ${rule.key}`,
    rule.session_id && `session ${rule.session_id}`,
    rule.format && `format ${rule.format}`,
  ].filter(Boolean)
  const limits = [
    rule.rate < 1 && `${Math.round(rule.rate * 100)} % of them`,
    rule.after > 0 && `after ${rule.after} ${rule.after === 1 ? 'request' : 'requests'}`,
    rule.times !== undefined && `${rule.times} times`,
    rule.latency_ms > 0 && `${rule.latency_ms} ms later`,
    rule.served && 'after it took effect',
  ].filter(Boolean)
  const remove = () => action.run(() => call('faults.remove', { params: { fault_id } }), `${fault_id} is removed.`)
  return (
    <li className="box card">
      <div className="grow">
        <div className="bar wrap-line">
          <Chip tone="bad">{effect}</Chip>
          {status !== undefined && <Chip>{status}</Chip>}
          {reason_code !== undefined && <code className="soft">{reason_code}</code>}
          {scenario !== null && <Chip tone="plain">{`scenario ${scenario}`}</Chip>}
        </div>
        <p>
          <code>{conditions.length === 0 ? 'every request' : conditions.join(' · ')}</code>
          {limits.length > 0 && <span className="soft"> {limits.join(', ')}</span>}
        </p>
        <p className="faint tiny">
          {fault_id} · matched {matched}, applied to {injected}
        </p>
      </div>
      <Button className="small" aria-label={`Remove ${fault_id}`} onPress={remove}>
        Remove
      </Button>
    </li>
  )
}

function AddRule({ add }: { add: (draft: FaultDraft) => Promise<boolean> }) {
  const [effect, setEffect] = useState<FaultEffect>('error')
  const [isServed, setServed] = useState(false)
  const [draft, setDraft] = useState<Draft>({})
  const set = (name: string) => (value: string) => setDraft((before) => ({ ...before, [name]: value }))
  const rewrite = parseJson(draft.rewrite ?? '')
  const problem =
    effect === 'rewrite' && !isObject(rewrite) ? 'Enter a JSON object: {"decision.fill": "yes"}' : undefined
  const submit = async () => {
    if (await add(buildRule(effect, isServed, draft))) setDraft({})
  }
  return (
    <Panel title="Add a rule">
      <SubmitForm className="form" onSubmit={submit}>
        <SelectInput label="The client gets" value={effect} onChange={setEffect} values={effects} />
        <EffectField effect={effect} draft={draft} set={set} problem={problem} />
        <SelectInput
          label="Method"
          value={draft.method ?? ''}
          onChange={set('method')}
          values={[['', 'any'], ...methods]}
        />
        {texts.map(([name, label, placeholder, hint]) => (
          <TextInput
            key={name}
            label={label}
            value={draft[name] ?? ''}
            onChange={set(name)}
            placeholder={placeholder}
            hint={hint}
            isCode
          />
        ))}
        <NumberFields effect={effect} draft={draft} set={set} />
        <Toggle
          label="The request takes effect"
          hint="Only its response is lost or damaged."
          isOn={isServed}
          onChange={setServed}
        />
        <Button type="submit" className="small primary" isDisabled={problem !== undefined}>
          Add rule
        </Button>
      </SubmitForm>
    </Panel>
  )
}

function EffectField({ effect, draft, set, problem }: RuleFieldsProps & { problem: string | undefined }) {
  if (effect === 'rewrite') {
    return (
      <TextInput
        label="Fields and new values"
        value={draft.rewrite ?? ''}
        onChange={set('rewrite')}
        rows={3}
        isCode
        problem={draft.rewrite ? problem : undefined}
        hint="By dotted path, as JSON."
      />
    )
  }
  if (effect !== 'error') return null
  const code = draft.reason_code ?? ''
  return (
    <TextInput label="Reason code" value={code} onChange={set('reason_code')} placeholder="injected_fault" isCode />
  )
}

interface RuleFieldsProps {
  effect: FaultEffect
  draft: Draft
  set(name: string): (value: string) => void
}

function NumberFields({ effect, draft, set }: RuleFieldsProps) {
  return (
    <div className="form-grid">
      {numbers
        .filter(([, , , only]) => only === '' || only === effect)
        .map(([name, label, placeholder]) => (
          <TextInput
            key={name}
            label={label}
            value={draft[name] ?? ''}
            onChange={set(name)}
            placeholder={placeholder}
            isNumeric
            problem={Number.isNaN(Number(draft[name] ?? 0)) ? 'Enter a number.' : undefined}
          />
        ))}
    </div>
  )
}

function buildRule(effect: FaultEffect, isServed: boolean, draft: Draft): FaultDraft {
  const body = {
    effect,
    ...(isServed ? { served: true } : {}),
    ...(draft.method ? { method: draft.method } : {}),
    ...(draft.reason_code && effect === 'error' ? { reason_code: draft.reason_code } : {}),
    ...Object.fromEntries(texts.flatMap(([name]) => (draft[name] ? [[name, draft[name]]] : []))),
    ...Object.fromEntries(
      numbers.flatMap(([name, , , only]) =>
        draft[name] && (only === '' || only === effect) ? [[name, Number(draft[name])]] : [],
      ),
    ),
    ...(effect === 'rewrite' ? { rewrite: parseJson(draft.rewrite ?? '') } : {}),
  }
  return body as FaultDraft
}
