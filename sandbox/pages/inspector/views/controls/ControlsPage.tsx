/** The controls of the sandbox, each part behind a tab that is in the address. */
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useResource } from '../../data/resource.ts'
import { SelectInput } from '../../parts/Fields.tsx'
import { withParam } from '../../parts/lists/filters.ts'
import { Page } from '../../parts/Page.tsx'
import { Shown } from '../../parts/Shown.tsx'
import { TabSet } from '../../parts/TabSet.tsx'
import { ClockControls } from './ClockControls.tsx'
import { DataControls } from './DataControls.tsx'
import { FaultControls } from './FaultControls.tsx'
import { KeyControls } from './KeyControls.tsx'
import { ScenarioControls } from './ScenarioControls.tsx'
import { SettingsControls } from './SettingsControls.tsx'

const parts: readonly { id: string; title: string; content: ReactNode }[] = [
  { id: 'clock', title: 'Clock', content: <ClockControls /> },
  { id: 'faults', title: 'Faults', content: <FaultControls /> },
  { id: 'scenarios', title: 'Scenarios', content: <ScenarioControls /> },
  { id: 'settings', title: 'Settings and limits', content: <OfProject part={SettingsControls} /> },
  { id: 'keys', title: 'Keys', content: <OfProject part={KeyControls} /> },
  { id: 'data', title: 'Snapshots and data', content: <DataControls /> },
]

export function ControlsPage() {
  const [params, setParams] = useSearchParams()
  const asked = params.get('part')
  return (
    <Page
      title="Controls"
      lead="Changes apply at once to the whole sandbox and all of its clients."
      actions={
        <>
          <Link className="small" href="/demand">
            Your own ads
          </Link>
          <Link className="small" href="/console">
            Console on a page
          </Link>
        </>
      }
    >
      <TabSet
        label="Controls"
        className="control-tabs"
        selectedKey={parts.find(({ id }) => id === asked)?.id ?? 'clock'}
        onSelect={(part) => setParams({ part }, { replace: true })}
        tabs={parts}
      />
    </Page>
  )
}

/** A part that is about one project. Which one is in the address. */
function OfProject({ part: Part }: { part(props: { client_id: string }): ReactNode }) {
  const resource = useResource('projects.list', {})
  const [params, setParams] = useSearchParams()
  return (
    <Shown resource={resource}>
      {({ items }) => {
        const names = items.map(({ client_id }) => client_id)
        const client_id = [params.get('project'), 'proj_demo', names.at(-1)].find((name) => names.includes(name ?? ''))
        return (
          <>
            <div className="form-line project-choice">
              <SelectInput
                label="Project"
                value={client_id ?? ''}
                values={names.map((name) => [name, name] as const)}
                onChange={(next) => setParams(withParam('project', next), { replace: true })}
              />
            </div>
            <Part key={client_id} client_id={client_id ?? ''} />
          </>
        )
      }}
    </Shown>
  )
}
