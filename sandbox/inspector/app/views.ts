/**
 * Every view, in the order of the navigation: a view is a folder of `views` whose `view.ts` is listed here. Its addresses are
 * served when sandbox/pipeline/pages/inspector.ts lists them.
 */
import { beacons } from '../views/beacons/view.ts'
import { controls } from '../views/controls/view.ts'
import { overview } from '../views/overview/view.ts'
import { placements } from '../views/placements/view.ts'
import { playground } from '../views/playground/view.ts'
import { billing, consent, evidence } from '../views/records/view.ts'
import { reference } from '../views/reference/view.ts'
import { requests } from '../views/requests/view.ts'
import type { View } from './view.ts'

export const views: readonly View[] = [
  overview,
  playground,
  placements,
  beacons,
  requests,
  consent,
  evidence,
  billing,
  controls,
  reference,
]
