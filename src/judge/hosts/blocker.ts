/** The ad blocker: the engine of a real one. */
import { FiltersEngine, Request, type RequestType } from '@ghostery/adblocker'
import { findEntry } from '#foundation/table-entry.ts'
import type { SeenRequest } from './passthrough.ts'

export interface Blocker {
  /** The number of its rules. */
  count: number
  /** Returns the rule that blocks a request, or null. */
  findBlock(request: Pick<SeenRequest, 'url' | 'destination' | 'from'>): string | null
  /** Returns the style sheet that hides elements of a page, and the rules in it. */
  hideRules(page: { url: string; ids: string[]; classes: string[] }): { styles: string; rules: string[] }
}

const types: Readonly<Record<string, RequestType>> = {
  document: 'main_frame',
  iframe: 'sub_frame',
  script: 'script',
  style: 'stylesheet',
  image: 'image',
  video: 'media',
  font: 'font',
  empty: 'xhr',
}

/** Reads a filter list in the syntax of the common blockers. */
export function openBlocker(list: string): Blocker {
  // Several stars in a row match what one does, in time that doubles with each.
  const engine = FiltersEngine.parse(list.replaceAll(/\*{2,}/g, '*'), { debug: true, loadExtendedSelectors: false })
  const { networkFilters, cosmeticFilters } = engine.getFilters()
  return {
    count: networkFilters.length + cosmeticFilters.length,
    findBlock({ url, destination, from }) {
      const type = findEntry(types, destination) ?? 'other'
      const { match, filter } = engine.match(Request.fromRawDetails({ url, type, sourceUrl: from || url }))
      return match ? (filter?.rawLine ?? filter?.toString() ?? 'a rule of the list') : null
    },
    hideRules({ url, ids, classes }) {
      const { hostname } = new URL(url)
      const { styles } = engine.getCosmeticsFilters({ url, hostname, domain: hostname, ids, classes, hrefs: [] })
      return { styles, rules: styles === '' ? [] : listSelectors(styles) }
    },
  }
}

/** The engine joins the selectors of all rules that apply. */
function listSelectors(styles: string): string[] {
  return styles
    .replaceAll(/\{[^{}]*\}/g, ',')
    .split(/,\s*/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
