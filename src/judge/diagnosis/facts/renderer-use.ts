/** How pages use render.js, read from their source and their errors: with the stub, which works without it, or without. */

const entries = 'withTurn|startTurn|renderPlacement|clearPlacement|activate|on|queue'

/** Matches what engines say when the API, or a function of it, is not there. */
const tooEarly = new RegExp(
  `SponsoredPlacement is not defined|variable: SponsoredPlacement|SponsoredPlacement(\\.\\w+)? is (undefined|not a function)|of undefined \\(reading '(${entries})'\\)`,
)

/** Whether an error is that of a page that uses render.js before it has loaded. */
export function isUseTooEarly(message: string): boolean {
  return tooEarly.test(message)
}

/** Whether a source has the stub, minified or not. */
export function hasStub(text: string): boolean {
  return /SponsoredPlacement\s*(=\s*(window\.)?SponsoredPlacement\s*\|\||\|\|=)/.test(text)
}

/** A line that uses render.js as if it were always there. */
export interface RendererUse {
  file: string
  /** From 1. */
  line: number
}

/** Returns the lines of a source that use render.js unguarded; none in a source that waits for it. */
export function unguardedUses(text: string): Omit<RendererUse, 'file'>[] {
  if (/\.onload\b|addEventListener\(\s*['"]load['"]|typeof\s+(window\.)?SponsoredPlacement/.test(text)) return []
  return [...text.matchAll(new RegExp(`(?<![\\w.$])(?:window\\.)?SponsoredPlacement\\.(?:${entries})\\b`, 'g'))].map(
    ({ index }) => ({ line: text.slice(0, index).split('\n').length }),
  )
}
