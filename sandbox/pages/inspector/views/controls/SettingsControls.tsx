/**
 * Settings of a project: latency, rate limits, origins and the like as fields of a form, all of them as JSON, and the
 * merge patch that either produces.
 */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { Latency, ProjectDetail, ProjectSettings, ProjectSettingsPatch } from '#contract/resources/projects.ts'
import { isObject, type JsonObject, parseJson } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments, SelectInput, SubmitForm, TextInput, Toggle } from '../../parts/Fields.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'

export function SettingsControls({ client_id }: { client_id: string }) {
  const resource = useResource('projects.show', { params: { client_id } })
  const action = useAction(resource.reload)
  const save = (patch: ProjectSettingsPatch) =>
    action.run(
      () => call('projects.update', { params: { client_id }, body: patch }),
      `Saved: ${Object.keys(patch).join(', ')}.`,
    )
  return (
    <>
      <Outcome action={action} />
      <Shown resource={resource}>
        {(project) => (
          <div className="columns even" key={project.config_revision}>
            <SettingsFields project={project} save={save} />
            <SettingsJson project={project} save={save} />
          </div>
        )}
      </Shown>
    </>
  )
}

interface PartProps {
  project: ProjectDetail
  save(patch: ProjectSettingsPatch): Promise<boolean>
}

function SettingsFields({ project: { settings, config_revision }, save }: PartProps) {
  const [form, setForm] = useState(toForm(settings))
  const set: FormSetter = (name) => (value) => setForm((before) => ({ ...before, [name]: value }))
  const patch = patchBetween(settings, toSettings(settings, form))
  const changes = Object.keys(patch).length
  return (
    <Panel title="Settings" actions={<Chip>{`revision ${config_revision}`}</Chip>}>
      <SubmitForm className="form" onSubmit={() => save(patch)}>
        <Toggle
          label="Placements may fill"
          hint="Off: every decision is a no-fill, policy_block."
          isOn={form.enabled}
          onChange={set('enabled')}
        />
        <LatencyFields form={form} set={set} />
        <fieldset className="form-grid">
          <legend className="label soft">Rate limits per key, such as 5/s, 60/min or off</legend>
          <TextInput label="Default" value={form.rate_default} onChange={set('rate_default')} placeholder="100/s" />
          <TextInput label="Beacons" value={form.rate_beacons} onChange={set('rate_beacons')} placeholder="500/s" />
          <TextInput
            label="Activations"
            value={form.rate_activate}
            onChange={set('rate_activate')}
            placeholder="20/s"
          />
        </fieldset>
        <TextInput
          label="Allowed origins"
          value={form.allowed_origins}
          onChange={set('allowed_origins')}
          rows={3}
          isCode
          hint="One per line: https://app.example.com, capacitor://localhost, or http://localhost:* in test mode."
        />
        <div className="form-grid">
          <TextInput label="Fill rate, 0 to 1" value={form.fill_rate} onChange={set('fill_rate')} isNumeric />
          <TextInput label="Ad label" value={form.label_text} onChange={set('label_text')} />
          <SelectInput
            label="Billing model"
            value={form.billing_model}
            onChange={set('billing_model')}
            values={billingModels.map((model) => [model, model] as const)}
          />
        </div>
        <Toggle label="Placements require consent" isOn={form.consent_required} onChange={set('consent_required')} />
        <Toggle
          label="Refuse personal data"
          hint="In session ids, topics, metadata and labels. Off: such a request gets a warning."
          isOn={form.refuses_personal_data}
          onChange={set('refuses_personal_data')}
        />
        <SaveButtons
          changes={changes === 0 ? null : `${changes} ${changes === 1 ? 'setting' : 'settings'}`}
          undo={changes === 0 ? null : () => setForm(toForm(settings))}
        />
      </SubmitForm>
    </Panel>
  )
}

type FormSetter = <Name extends keyof SettingsForm>(name: Name) => (value: SettingsForm[Name]) => void

const latencyLabels = {
  fixed: ['Milliseconds', ''],
  uniform: ['At least, ms', 'At most, ms'],
  lognormal: ['Median, ms', 'Sigma'],
} as const

function LatencyFields({ form, set }: { form: SettingsForm; set: FormSetter }) {
  const [first, second] = latencyLabels[form.latency]
  return (
    <>
      <Segments
        label="Decision latency"
        value={form.latency}
        onChange={set('latency')}
        values={[
          ['fixed', 'Fixed'],
          ['uniform', 'Between'],
          ['lognormal', 'Log-normal'],
        ]}
        hint="In sandbox time. If longer than the request waits, the decision is pending."
      />
      <div className="form-grid">
        <TextInput label={first} value={form.latency_ms} onChange={set('latency_ms')} isNumeric />
        {second !== '' && (
          <TextInput label={second} value={form.latency_spread} onChange={set('latency_spread')} isNumeric />
        )}
      </div>
    </>
  )
}

const billingModels: readonly ProjectSettings['billing_model'][] = ['cpm_viewable', 'cpm_render', 'cpc', 'cpcv']

function SettingsJson({ project: { settings }, save }: PartProps) {
  const original = JSON.stringify(settings, null, 2)
  const [text, setText] = useState(original)
  const read = readSettings(text)
  const patch = 'settings' in read ? patchBetween(settings, read.settings) : {}
  return (
    <Panel title="All settings" lead="Settings that you remove return to their defaults.">
      <SubmitForm className="form" onSubmit={() => save(patch)}>
        <TextInput
          label="Settings as JSON"
          value={text}
          onChange={setText}
          rows={26}
          isCode
          problem={'problem' in read ? read.problem : undefined}
        />
        <SaveButtons
          changes={Object.keys(patch).join(', ') || null}
          undo={text === original ? null : () => setText(original)}
        />
      </SubmitForm>
    </Panel>
  )
}

function SaveButtons({ changes, undo }: { changes: string | null; undo: (() => void) | null }) {
  return (
    <div className="bar">
      <Button type="submit" className="small primary" isDisabled={changes === null}>
        {changes === null ? 'Save' : `Save ${changes}`}
      </Button>
      {undo !== null && (
        <Button className="small quiet" onPress={undo}>
          Undo
        </Button>
      )}
    </div>
  )
}

/** The settings that have their own field. */
interface SettingsForm {
  enabled: boolean
  allowed_origins: string
  fill_rate: string
  latency: 'fixed' | 'uniform' | 'lognormal'
  /** Milliseconds: the latency, its lower bound, or its median. */
  latency_ms: string
  /** The upper bound in milliseconds, or sigma. */
  latency_spread: string
  rate_default: string
  rate_beacons: string
  rate_activate: string
  consent_required: boolean
  refuses_personal_data: boolean
  label_text: string
  billing_model: string
}

export function toForm(settings: ProjectSettings): SettingsForm {
  const { rate_limits, consent } = settings
  return {
    enabled: settings.enabled,
    allowed_origins: settings.allowed_origins.join('\n'),
    fill_rate: String(settings.fill_rate),
    ...latencyForm(settings.decision_latency_ms),
    rate_default: rate_limits.default ?? '',
    rate_beacons: rate_limits.beacons ?? '',
    rate_activate: rate_limits.activate ?? '',
    consent_required: consent.required,
    refuses_personal_data: settings.personal_data === 'reject',
    label_text: settings.label_text,
    billing_model: settings.billing_model,
  }
}

function latencyForm(latency: Latency): Pick<SettingsForm, 'latency' | 'latency_ms' | 'latency_spread'> {
  if (typeof latency === 'number') return { latency: 'fixed', latency_ms: String(latency), latency_spread: '' }
  if (latency.distribution === 'uniform') {
    return { latency: 'uniform', latency_ms: String(latency.min_ms), latency_spread: String(latency.max_ms) }
  }
  return { latency: 'lognormal', latency_ms: String(latency.median_ms), latency_spread: String(latency.sigma) }
}

function toLatency({ latency, latency_ms, latency_spread }: SettingsForm): Latency {
  const [ms, spread] = [Number(latency_ms), Number(latency_spread)]
  if (latency === 'fixed') return ms
  if (latency === 'uniform') return { distribution: 'uniform', min_ms: ms, max_ms: spread }
  return { distribution: 'lognormal', median_ms: ms, sigma: spread }
}

type Fields = Readonly<Record<string, unknown>>

export function toSettings(before: ProjectSettings, form: SettingsForm): Fields {
  const lines = form.allowed_origins.split('\n').map((line) => line.trim())
  return {
    ...before,
    enabled: form.enabled,
    allowed_origins: lines.filter((line) => line !== ''),
    fill_rate: Number(form.fill_rate),
    decision_latency_ms: toLatency(form),
    rate_limits: {
      default: form.rate_default.trim() || null,
      beacons: form.rate_beacons.trim() || null,
      activate: form.rate_activate.trim() || null,
    },
    consent: { ...before.consent, required: form.consent_required },
    personal_data: form.refuses_personal_data ? 'reject' : 'warn',
    label_text: form.label_text,
    billing_model: form.billing_model,
  }
}

/** Returns the merge patch between two settings: objects are patched field by field, a removed field becomes null. */
export function patchBetween(before: Fields, after: Fields): ProjectSettingsPatch {
  return patch(before, after)
}

function patch(before: Fields, after: Fields): Record<string, unknown> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const changes: Record<string, unknown> = {}
  for (const name of names) {
    const [old, next] = [before[name], after[name]]
    if (JSON.stringify(old) === JSON.stringify(next)) continue
    // A latency is one value: its fields belong together.
    if (isObject(old) && isObject(next) && name !== 'decision_latency_ms') changes[name] = patch(old, next)
    else changes[name] = next ?? null
  }
  return changes
}

export function readSettings(text: string): { settings: JsonObject } | { problem: string } {
  const settings = parseJson(text)
  return isObject(settings) ? { settings } : { problem: 'Enter a JSON object with the new settings.' }
}
