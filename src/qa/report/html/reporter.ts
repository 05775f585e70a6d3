/** One page for people who were not there: every case, folded, with all that went over the wire. */
import type { Reporter } from '../../result.ts'
import type { Destination } from '../tools.ts'
import { pageOf } from './page.ts'

export function createHtmlReporter({ write }: Destination): Reporter {
  return { end: (result) => write(pageOf(result)) }
}
