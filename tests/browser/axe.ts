/** Accessibility of a page or of a frame, as axe-core judges it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Frame, Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Returns the serious and critical violations of one document, without its frames: `rule: element`. Checks all rules, or only
 * these: in a second colour scheme, contrast is what can differ.
 */
export async function violations(document: Page | Frame, rules?: readonly string[]): Promise<string[]> {
  if (!(await document.evaluate(() => 'axe' in window))) await document.evaluate(source)
  const options = { iframes: false, resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const results = await document.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`))
}
