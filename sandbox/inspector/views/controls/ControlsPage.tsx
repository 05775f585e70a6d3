/** What changes how the sandbox behaves: each part behind a tab, which is in the address. */
import type { ComponentType } from 'react'
import { useSearchParams } from 'wouter'
import { Page } from '../../parts/Panel.tsx'
import { TabSet } from '../../parts/Tabs.tsx'
import { ClockControls } from './ClockControls.tsx'
import { DataControls } from './DataControls.tsx'
import { FaultControls } from './FaultControls.tsx'
import { KeyControls } from './Keys.tsx'
import { ScenarioControls } from './ScenarioControls.tsx'
import { SettingsControls } from './SettingsControls.tsx'

const parts: readonly { id: string; title: string; part: ComponentType }[] = [
  { id: 'clock', title: 'Clock', part: ClockControls },
  { id: 'faults', title: 'Faults', part: FaultControls },
  { id: 'scenarios', title: 'Scenarios', part: ScenarioControls },
  { id: 'settings', title: 'Settings and limits', part: SettingsControls },
  { id: 'keys', title: 'Keys', part: KeyControls },
  { id: 'data', title: 'Snapshots and data', part: DataControls },
]

export function ControlsPage() {
  const [params, setParams] = useSearchParams()
  const asked = params.get('part')
  const current = parts.find(({ id }) => id === asked)?.id ?? 'clock'
  return (
    <Page title="Controls" lead="Changes apply to the whole sandbox at once, for every client of it.">
      <TabSet
        label="Parts of the sandbox"
        className="control-tabs"
        selectedKey={current}
        onSelect={(part) => setParams({ part }, { replace: true })}
        tabs={parts.map(({ id, title, part: Part }) => ({ id, title, content: <Part /> }))}
      />
    </Page>
  )
}
