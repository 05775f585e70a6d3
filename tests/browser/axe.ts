/** Accessibility of a page or of a frame, as axe-core judges it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Frame, Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns the serious and critical violations of one document, without its frames: `rule: element`. */
export async function violations(document: Page | Frame): Promise<string[]> {
  if (!(await document.evaluate(() => 'axe' in window))) await document.evaluate(source)
  const results = await document.evaluate<AxeResults>(
    'axe.run(document, { iframes: false, resultTypes: ["violations"] })',
  )
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`))
}
