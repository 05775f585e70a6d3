/** What `svc observe` says when it saw nothing of the app, or too little: passing on nothing would be worse than failing. */
import { describeEnding } from '#contract/words/renderer-errors.ts'
import { isAdRequest, type JournaledExchange } from '#diagnosis/exchange.ts'
import type { Verdict, Watched } from '#diagnosis/observe.ts'
import { observeFileName } from './observe-file.ts'
import { headedFlag, type ObserveFlags } from './observe-flags.ts'

interface Target {
  base_url: string
  /** Resolves to a sentence about another sandbox that got the requests of the app, or null. */
  findOther: () => Promise<string | null>
}

/** Returns why nothing was judged, or null. */
export function explainNothing(watched: Watched, verdicts: readonly Verdict[], base_url: string) {
  if (isAppSeen(watched)) {
    if (isWithoutAd(watched)) return 'Nothing of an ad was judged: the page requested none.'
    const isJudged = verdicts.some(({ standing }) => standing !== 'off' && standing !== 'not_seen')
    return isJudged
      ? null
      : `Nothing was judged: ${observeFileName} turns off every rule that had something to judge by.`
  }
  const { own_requests, served = [] } = watched
  const own = own_requests === 0 ? '' : ` and left out ${own_requests} of svc itself`
  const files = served.length === 0 ? '' : `, and no file in ${served.map(({ place }) => place).join(', ')}`
  return `Nothing was judged: observe saw no request of the app to ${base_url}${own}${files}.`
}

/** Whether there was anything of the app: a request, or a file. */
function isAppSeen({ exchanges, served = [] }: Watched): boolean {
  return exchanges.some(isOfApp) || served.some(({ files }) => files > 0)
}

/** Whether a page was watched that neither requested an ad nor mounted one. */
function isWithoutAd({ exchanges, page }: Watched): boolean {
  return page !== null && page.mounts.length === 0 && !exchanges.some(isAdRequest)
}

/** Resolves to what to do if nothing was seen that could be judged, or null: first that another sandbox got the requests. */
export async function explainUnseen(watched: Watched, flags: ObserveFlags, { base_url, findOther }: Target) {
  const hint = unseenHint(watched, flags, base_url)
  return hint === null ? null : ((await findOther()) ?? hint)
}

/** Returns what to do if nothing was seen that could be judged, or null. */
function unseenHint(watched: Watched, { steps, since, ...flags }: ObserveFlags, base_url: string) {
  const { exchanges, page } = watched
  if (page !== null && isWithoutAd(watched)) {
    // Then the reason is known.
    if (page.renderer_errors.length + page.console_errors.length + page.blocked.length > 0) return null
    if (page.has_early_end) return `The page requested no ad. ${describeEnding('finished_early')}`
    const isUsed = steps !== undefined || headedFlag(flags) !== null
    const early = page.is_idle ? ' Does it look for SponsoredPlacement before render.js has run?' : ''
    const other = exchanges.find(isOfApp)
    if (isUsed && other !== undefined)
      return `The page requested no ad, though ${other.method} ${other.path} of the app arrived. Does a step come before its consent is stored? A step waits: - wait: 1s${early}`
    return isUsed
      ? `The page requested no ad from ${base_url}. Is that the base URL of the app?${early}`
      : `The page requested no ad. Does it wait for consent or a question?${early} Drive it with a file of steps: --steps FILE. Or use it yourself: --interactive`
  }
  if (isAppSeen(watched)) {
    const isServer = page === null && exchanges.some(isOfApp) && !exchanges.some(isAdRequest)
    return isServer ? 'No placement was requested: the rules about ads had nothing to judge by.' : null
  }
  if (since !== undefined) return 'Use the app, then run this again. Or look further back: --since 2h'
  return 'Does the app read SVC_BASE_URL? A test that starts a sandbox of its own is not seen.'
}

/** Whether it shows what the app does: any page may load the renderer. */
export function isOfApp({ path }: JournaledExchange): boolean {
  return !path.startsWith('/v1/render.js')
}
