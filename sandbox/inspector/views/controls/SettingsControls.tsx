/** Settings of a project: latency, rate limits, origins and the like in fields, all of them as JSON. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import type { ProjectDetail, ProjectSettings, ProjectSettingsPatch } from '../../../../src/contract/control/projects.ts'
import type { JsonObject } from '../../../../src/foundation/json.ts'
import { call } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import { Chip } from '../../parts/Chip.tsx'
import { Outcome, useAction } from '../../parts/Dialog.tsx'
import { Segments, SelectInput, SubmitForm, TextInput, Toggle } from '../../parts/Fields.tsx'
import { WithProject } from '../../parts/Filters.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/States.tsx'
import { formOf, patchBetween, readSettings, type SettingsForm, settingsOf } from './settings.ts'

export function SettingsControls() {
  return <WithProject>{(client_id) => <Settings key={client_id} client_id={client_id} />}</WithProject>
}

function Settings({ client_id }: { client_id: string }) {
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

const latencyLabels = {
  fixed: ['Milliseconds', ''],
  uniform: ['At least, ms', 'At most, ms'],
  lognormal: ['Median, ms', 'Sigma'],
} as const

function SettingsFields({ project: { settings, config_revision }, save }: PartProps) {
  const [form, setForm] = useState(formOf(settings))
  const set =
    <Name extends keyof SettingsForm>(name: Name) =>
    (value: SettingsForm[Name]) =>
      setForm((before) => ({ ...before, [name]: value }))
  const patch = patchBetween(settings as unknown as JsonObject, settingsOf(settings, form))
  const changes = Object.keys(patch).length
  const [first, second] = latencyLabels[form.latency]
  return (
    <Panel title="Settings" actions={<Chip>{`revision ${config_revision}`}</Chip>}>
      <SubmitForm className="form" onSubmit={() => save(patch)}>
        <Toggle
          label="Placements may fill"
          hint="Off: every decision is a no-fill, policy_block."
          isOn={form.enabled}
          onChange={set('enabled')}
        />
        <Segments
          label="Latency of decisions"
          value={form.latency}
          onChange={set('latency')}
          values={[
            ['fixed', 'Fixed'],
            ['uniform', 'Between'],
            ['lognormal', 'Log-normal'],
          ]}
          hint="By the sandbox clock. Longer than a request waits: it is pending."
        />
        <div className="form-grid">
          <TextInput label={first} value={form.latency_ms} onChange={set('latency_ms')} isNumeric />
          {second !== '' && (
            <TextInput label={second} value={form.latency_spread} onChange={set('latency_spread')} isNumeric />
          )}
        </div>
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
          hint="One per line: https://app.example.com, or http://localhost:* in test mode."
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
        <Toggle label="A placement needs consent" isOn={form.consent_required} onChange={set('consent_required')} />
        <div className="bar">
          <Button type="submit" className="small primary" isDisabled={changes === 0}>
            {changes === 0 ? 'Save' : `Save ${changes} ${changes === 1 ? 'setting' : 'settings'}`}
          </Button>
          {changes > 0 && (
            <Button className="small quiet" onPress={() => setForm(formOf(settings))}>
              Undo
            </Button>
          )}
        </div>
      </SubmitForm>
    </Panel>
  )
}

const billingModels: readonly ProjectSettings['billing_model'][] = ['cpm_viewable', 'cpm_render', 'cpc', 'cpcv']

function SettingsJson({ project: { settings }, save }: PartProps) {
  const original = JSON.stringify(settings, null, 2)
  const [text, setText] = useState(original)
  const read = readSettings(text)
  const patch = 'settings' in read ? patchBetween(settings as unknown as JsonObject, read.settings) : {}
  const changes = Object.keys(patch).length
  return (
    <Panel title="Every setting" lead="A setting that you remove returns to its default.">
      <SubmitForm className="form" onSubmit={() => save(patch)}>
        <TextInput
          label="Settings as JSON"
          value={text}
          onChange={setText}
          rows={26}
          isCode
          problem={'problem' in read ? read.problem : undefined}
        />
        <div className="bar">
          <Button type="submit" className="small primary" isDisabled={changes === 0}>
            {changes === 0 ? 'Save' : `Save ${Object.keys(patch).join(', ')}`}
          </Button>
          {text !== original && (
            <Button className="small quiet" onPress={() => setText(original)}>
              Undo
            </Button>
          )}
        </div>
      </SubmitForm>
    </Panel>
  )
}
