/** One session: its placements, its beacons and the history of its consent. */
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { Page } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/States.tsx'
import { BeaconTable } from '../beacons/BeaconTable.tsx'
import { ConsentTable } from '../records/ConsentTable.tsx'
import { PlacementTable } from './PlacementTable.tsx'

export function SessionPage({ id }: { id: string }) {
  const query = { session_id: id }
  return (
    <Page title={id} copies="session_id" lead="A session, in every project that has one of this name" isFull>
      <Tabs className="tabs full-tabs">
        <TabList className="tab-list" aria-label="Of this session">
          <Tab id="placements" className="tab">
            Placements
          </Tab>
          <Tab id="beacons" className="tab">
            Beacons
          </Tab>
          <Tab id="consent" className="tab">
            Consent
          </Tab>
        </TabList>
        <TabPanel id="placements" className="full-panel">
          <PlacementTable query={query} empty={<Empty icon="placements" title="This session has no placements" />} />
        </TabPanel>
        <TabPanel id="beacons" className="full-panel">
          <BeaconTable query={query} empty={<Empty icon="beacons" title="This session has no beacons" />} />
        </TabPanel>
        <TabPanel id="consent" className="full-panel">
          <ConsentTable query={query} empty={<Empty icon="consent" title="This session has stored no consent" />} />
        </TabPanel>
      </Tabs>
    </Page>
  )
}
