/** The page of a bundle as a service sends it, for the command line and for the tools of agents. */
import type { Bundle } from '#contract/bundles/bundle.ts'
import { readBundle } from '#contract/bundles/text.ts'
import { CliError } from '#text/cli-error.ts'

/** Returns the bundle of a page. Throws CliError when the service sent something else. */
export function requireBundle(page: string): Bundle {
  const read = readBundle(page)
  if ('bundle' in read) return read.bundle
  const hint = 'Is the base URL that of a sandbox, of this version? svc sandbox status'
  throw new CliError('service', 'contract_mismatch', `What the service sent is not a bundle: ${read.problem}.`, hint)
}

/** Returns the name of a bundle's file when none is given. */
export function bundleFileName({ turns, session_id }: Bundle): string {
  const [first] = turns
  if (turns.length === 1 && first !== undefined) return `${first.placement.slot_id}.svc.html`
  return `${(session_id ?? 'session').replace(/[^\w.-]+/g, '_').slice(0, 64)}.svc.html`
}
