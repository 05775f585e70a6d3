/** The catalogue of scenarios, one of which may be active. */
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import type { ScenarioItem } from '#contract/resources/sandbox/scenarios.ts'
import { call } from '../../data/api.ts'
import { useCampaigns } from '../../data/campaigns.ts'
import { useResource } from '../../data/resource.ts'
import { type Action, Outcome, useAction } from '../../parts/Dialog.tsx'
import { SelectInput, TextInput } from '../../parts/Fields.tsx'
import { hasWords } from '../../parts/lists/filters.ts'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'

export function ScenarioControls() {
  const resource = useResource('scenario.list', {})
  const action = useAction(resource.reload)
  const [search, setSearch] = useState('')
  return (
    <Panel
      title="Scenarios"
      lead="Named cases that an integration must handle. One at a time is active; it survives a restart and ends with a reset."
    >
      <div className="form-line">
        <TextInput label="Search" value={search} onChange={setSearch} placeholder="consent, timeout, beacon" />
      </div>
      <CampaignChoice action={action} items={resource.state.data?.items ?? []} />
      <Outcome action={action} />
      <Shown resource={resource}>
        {({ items }) => {
          const shown = items.filter(({ name, title, purpose }) => hasWords(`${name} ${title} ${purpose}`, search))
          if (shown.length === 0) return <Empty title="No scenario matches" />
          return (
            <ul className="cards tiles">
              {shown
                .toSorted((a, b) => Number(b.active) - Number(a.active))
                .map((item) => (
                  <Scenario key={item.name} item={item} action={action} />
                ))}
            </ul>
          )
        }}
      </Shown>
    </Panel>
  )
}

/** Forces a campaign on all test traffic: the scenario that has its name. */
function CampaignChoice({ items, action }: { items: readonly ScenarioItem[]; action: Action }) {
  const chosen = items.find(({ active, changes }) => active && changes.force_campaign_id !== undefined)?.name ?? ''
  const force = (name: string) =>
    name !== chosen &&
    action.run(
      () => (name === '' ? call('scenario.clear') : call('scenario.use', { params: { name }, body: {} })),
      name === '' ? 'No campaign is forced.' : `${name} is forced.`,
    )
  return (
    <div className="form-line">
      <SelectInput
        label="Force a campaign"
        value={chosen}
        values={useCampaigns('none: the best offer wins', chosen)}
        onChange={force}
        hint="All test traffic gets it, or the rule that forbids it. It is marked, and never billed."
      />
    </div>
  )
}

function Scenario({ item, action }: { item: ScenarioItem; action: Action }) {
  const { name, title, purpose, steps, expect, active } = item
  const use = () => action.run(() => call('scenario.use', { params: { name }, body: {} }), `${name} is active.`)
  const end = () => action.run(() => call('scenario.clear'), `${name} ended.`)
  return (
    <li className="box scenario" data-active={active || undefined}>
      <div className="bar spread">
        <code>{name}</code>
        {active && <Chip tone="good">active</Chip>}
      </div>
      <h3>{title}</h3>
      <p className="soft">{purpose}</p>
      <details>
        <summary className="label soft">What to do and what to expect</summary>
        <ol>
          {steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <ul>
          {expect.map((outcome) => (
            <li key={outcome}>{outcome}</li>
          ))}
        </ul>
      </details>
      <div className="bar scenario-actions">
        <Button className="small" onPress={active ? end : use} aria-label={`${active ? 'End' : 'Use'} ${name}`}>
          {active ? 'End' : 'Use'}
        </Button>
        <Link
          className="small quiet"
          href={`/playground?scenario=${name}`}
          aria-label={`Try ${name} in the playground`}
        >
          Try in the playground
        </Link>
      </div>
    </li>
  )
}
