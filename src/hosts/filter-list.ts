/**
 * The ad blocker: the engine of a real one, with the user's list or the built-in one. Public lists may not be shipped with this
 * package, nor downloaded at run time; the built-in list has rules of the kinds that they all have, for any site.
 */

import { FiltersEngine, Request, type RequestType } from '@ghostery/adblocker'
import { entryOf } from '#foundation/table-entry.ts'
import type { SeenRequest } from './passthrough.ts'

/** Rules without a domain: what general lists have against names that only ads use. */
export const builtinList = `! General rules
/adserver/
/adservice/
/ads/*
/ad/api/
/adframe.
/adbanner.
/ad-banner/
/banner-ads/
/banner_ads/
/pagead/
/prebid.js
/sponsored-ads/
-ad-banner.
-ads-api/
_adframe.
&ad_unit=
?ad_slot=
/ads.js$script
/adsense.js$script
/advertising.js$script
/ad-beacon?
/track/impression?
###ad-banner
###ad-container
###ad-slot
###adbox
###ads
###advertisement
##.ad-banner
##.ad-container
##.ad-placement
##.ad-slot
##.ad-unit
##.ad-wrapper
##.adbox
##.ads
##.adsbox
##.adsbygoogle
##.advertisement
##.banner-ad
##.sponsored-ad
##.sponsored-content
##[id^="div-gpt-ad"]
##[data-ad-slot]
`

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
  const engine = FiltersEngine.parse(list, { debug: true, loadExtendedSelectors: false })
  const { networkFilters, cosmeticFilters } = engine.getFilters()
  return {
    count: networkFilters.length + cosmeticFilters.length,
    findBlock({ url, destination, from }) {
      const type = entryOf(types, destination) ?? 'other'
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
    .replaceAll(/\{[^}]*\}/g, ',')
    .split(/,\s*/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
