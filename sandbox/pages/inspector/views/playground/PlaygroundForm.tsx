/** The choices of the playground as a form. */
import type { ReactNode } from 'react'
import { Button, Disclosure, DisclosurePanel, Heading } from 'react-aria-components'
import { useCampaigns } from '../../data/campaigns.ts'
import { useResource } from '../../data/resource.ts'
import { Segments, SelectInput, TextInput, Toggle } from '../../parts/Fields.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { type Choice, type FieldProblem, labelledValues, type PlaygroundState, type TextChoice } from './state.ts'

interface PlaygroundFormProps {
  state: PlaygroundState
  change(some: Partial<PlaygroundState>): void
  problems: readonly FieldProblem[]
  /** The publishable key of a project whose key is unknown; no link contains it. */
  publishable: { value: string; onChange(value: string): void; isKnown: boolean }
}

/** Returns the project of a state and its secret test key, each from the seed where the state leaves it open. */
export function useProjectKeys({ project }: PlaygroundState): { client_id: string; key_id: string | null } {
  const { state: listed } = useResource('projects.list', project === '' ? {} : null)
  const oldest = listed.status === 'ready' ? (listed.data.items.at(-1)?.client_id ?? '') : ''
  const named = listed.status === 'ready' && listed.data.items.some((item) => item.client_id === 'proj_demo')
  const client_id = project || (named ? 'proj_demo' : oldest)
  const { state } = useResource('keys.list', client_id === '' ? null : { params: { client_id } })
  const keys = state.status === 'ready' ? state.data.items : []
  const usable = keys.filter((key) => key.class === 'secret' && key.revoked_at_ms === null)
  return { client_id, key_id: (usable.find(({ mode }) => mode === 'test') ?? usable[0])?.key_id ?? null }
}

/** Returns the properties of the fields for choices and texts. */
function bindFields({ state, change, problems }: Omit<PlaygroundFormProps, 'publishable'>) {
  const set =
    <Name extends keyof PlaygroundState>(name: Name) =>
    (value: PlaygroundState[Name]) =>
      change({ [name]: value })
  return {
    choice: <Name extends Choice>(name: Name) => ({
      value: state[name],
      onChange: set(name),
      values: labelledValues[name],
    }),
    text: (name: TextChoice) => ({
      value: state[name],
      onChange: set(name),
      problem: problems.find(({ field }) => field === name)?.message,
    }),
  }
}

export function PlaygroundForm(props: PlaygroundFormProps) {
  const { state, change } = props
  const { choice, text } = bindFields(props)
  const { client_id } = useProjectKeys(state)
  return (
    <div className="form">
      <SenderFields {...props} />
      <SelectInput label="Job type" {...choice('job_type')} />
      <Segments label="Format" {...choice('format')} />
      {(state.format === 'native' || state.format === 'any') && (
        <SelectInput label="Native template" {...choice('template')} />
      )}
      <TextInput label="Topic" {...text('topic')} placeholder="none" hint="Used for matching when there is consent." />
      <TextInput
        label="Prompt text"
        {...text('text')}
        rows={2}
        placeholder="none"
        hint="Processed only when the prompt may be shared, and never stored."
      />
      <SelectInput label="Consent in the request" {...choice('consent')} />
      <CampaignInput value={state.campaign} onChange={(campaign) => change({ campaign })} />
      <Toggle
        label="Force a no-fill"
        hint="test_outcome: needs a test key."
        isOn={state.outcome === 'no_fill'}
        onChange={(isOn) => change({ outcome: isOn ? 'no_fill' : 'fill' })}
      />
      <More title="Size and place">
        <div className="form-grid">
          <TextInput label="Maximum width" {...text('max_width')} placeholder="of the slot" isNumeric />
          <TextInput label="Maximum height" {...text('max_height')} placeholder="any" isNumeric />
        </div>
        <SelectInput label="Position" {...choice('position')} />
      </More>
      <More title="Overrides and waiting">
        <TextInput
          label="Overrides"
          {...text('overrides')}
          rows={3}
          isCode
          placeholder='{"bidfloor": 2}'
          hint="JSON; overrides the choices above."
        />
        <TextInput label="Wait for the decision, ms" {...text('wait_ms')} placeholder="1500" isNumeric />
      </More>
      <More title="Project, session, scenario" isOpen={state.scenario !== '' || state.project !== ''}>
        <ProjectFields state={state} change={change} client_id={client_id} />
      </More>
    </div>
  )
}

function CampaignInput({ value, onChange }: { value: string; onChange(campaign_id: string): void }) {
  const values = useCampaigns('The best offer', value)
  return (
    <SelectInput
      label="Campaign"
      value={value}
      values={values}
      onChange={onChange}
      hint="A forced ad is marked, and never billed. It needs a test key."
    />
  )
}

function SenderFields(props: PlaygroundFormProps) {
  const { state, publishable } = props
  const hint =
    state.as === 'server' ? 'With the secret key of the project.' : 'This page activates with the publishable key.'
  return (
    <>
      <Segments label="Send as" {...bindFields(props).choice('as')} hint={hint} />
      {state.as === 'browser' && !publishable.isKnown && (
        <TextInput
          label="Publishable key"
          value={publishable.value}
          onChange={publishable.onChange}
          placeholder="pk_test_..."
          isCode
        />
      )}
    </>
  )
}

type ProjectFieldsProps = Pick<PlaygroundFormProps, 'state' | 'change'> & { client_id: string }

function ProjectFields({ state, change, client_id }: ProjectFieldsProps) {
  const { state: listed } = useResource('projects.list', {})
  const { state: keys } = useResource('keys.list', client_id === '' ? null : { params: { client_id } })
  const { state: scenarios } = useResource('scenario.list', {})
  const projects = listed.status === 'ready' ? listed.data.items : []
  const secret = keys.status === 'ready' ? keys.data.items.filter((key) => key.class === 'secret') : []
  const names = scenarios.status === 'ready' ? scenarios.data.items : []
  return (
    <>
      <SelectInput
        label="Project"
        value={state.project}
        onChange={(project) => change({ project, key: '' })}
        values={[['', 'the first'], ...projects.map((item) => [item.client_id, item.client_id] as const)]}
      />
      {state.as === 'server' && (
        <SelectInput
          label="Key"
          value={state.key}
          onChange={(key) => change({ key })}
          values={[
            ['', 'the test key'],
            ...secret.map(
              (key) =>
                [key.key_id, `${key.mode}${key.revoked_at_ms === null ? '' : ', revoked'}: ${key.key_id}`] as const,
            ),
          ]}
        />
      )}
      <TextInput
        label="Session"
        value={state.session}
        onChange={(session) => change({ session })}
        placeholder="new for this page"
        isCode
      />
      <SelectInput
        label="Scenario"
        value={state.scenario}
        onChange={(scenario) => change({ scenario })}
        values={[
          ['', 'unchanged'],
          ['none', 'none: end the active one'],
          ...names.map(({ name, active }) => [name, active ? `${name}, active` : name] as const),
        ]}
        hint="Activated when you send, for the whole sandbox."
      />
    </>
  )
}

function More({ title, isOpen = false, children }: { title: string; isOpen?: boolean; children: ReactNode }) {
  return (
    <Disclosure className="more" defaultExpanded={isOpen}>
      <Heading level={3}>
        <Button slot="trigger" className="more-button bar label soft">
          <Icon name="chevron" />
          {title}
        </Button>
      </Heading>
      <DisclosurePanel className="more-panel">{children}</DisclosurePanel>
    </Disclosure>
  )
}
