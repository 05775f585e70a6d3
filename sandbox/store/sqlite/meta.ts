/** The clock and the fault rules: each is one value of the table `meta`, missing until the first change. */
import type { ClockAndFaultStore, ClockRow, FaultState } from '../store.ts'
import type { EventTable } from './events.ts'
import type { Connection } from './group-commit.ts'
import { metaValue } from './rows.ts'

export function clockAndFaultMethods({ db, read, write }: Connection, events: EventTable): ClockAndFaultStore {
  const clock = metaValue<ClockRow>(db, 'clock')
  const faults = metaValue<FaultState>(db, 'faults')
  return {
    findClock: async () => read(clock.find),
    saveClock: ({ offset_ms, frozen_at_ms }, at_ms) =>
      write(() => {
        clock.save({ offset_ms, frozen_at_ms })
        events.append({ type: 'clock.changed', at_ms, project_id: null, slot_id: null, ref: frozen_at_ms })
      }),
    findFaults: async () => read(faults.find),
    saveFaults: (state) =>
      write(() => {
        const { scenario, added, rules } = state()
        faults.save({ scenario, added, rules })
      }),
  }
}
