/** What changes how the sandbox behaves: each part behind a tab, which is in the address. */
import type { ComponentType } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { useSearchParams } from 'wouter'
import { Page } from '../../parts/Panel.tsx'
import { ClockControls } from './ClockControls.tsx'
import { DataControls } from './DataControls.tsx'
import { FaultControls } from './FaultControls.tsx'
import { KeyControls } from './Keys.tsx'
import { ScenarioControls } from './ScenarioControls.tsx'
import { SettingsControls } from './SettingsControls.tsx'

const parts: readonly { id: string; label: string; part: ComponentType }[] = [
  { id: 'clock', label: 'Clock', part: ClockControls },
  { id: 'faults', label: 'Faults', part: FaultControls },
  { id: 'scenarios', label: 'Scenarios', part: ScenarioControls },
  { id: 'settings', label: 'Settings and limits', part: SettingsControls },
  { id: 'keys', label: 'Keys', part: KeyControls },
  { id: 'data', label: 'Snapshots and data', part: DataControls },
]

export function ControlsPage() {
  const [params, setParams] = useSearchParams()
  const asked = params.get('part')
  const current = parts.find(({ id }) => id === asked)?.id ?? 'clock'
  return (
    <Page title="Controls" lead="Changes apply to the whole sandbox at once, for every client of it.">
      <Tabs
        className="tabs control-tabs"
        selectedKey={current}
        onSelectionChange={(key) => setParams({ part: String(key) }, { replace: true })}
      >
        <TabList className="tab-list" aria-label="Parts of the sandbox">
          {parts.map(({ id, label }) => (
            <Tab key={id} id={id} className="tab">
              {label}
            </Tab>
          ))}
        </TabList>
        {parts.map(({ id, part: Part }) => (
          <TabPanel key={id} id={id}>
            <Part />
          </TabPanel>
        ))}
      </Tabs>
    </Page>
  )
}
