/** A bundle as evidence: whether anything in its file was changed since a sandbox signed it. */

import type { Bundle } from '#contract/bundles/bundle.ts'
import { checkBundleFile } from '#contract/bundles/file-check.ts'
import { findNameProblem, readBundle } from '#contract/bundles/text.ts'
import type { EvidenceVerification } from '#contract/resources/evidence.ts'
import { plainLine } from '#foundation/unsafe-text.ts'
import { sha256Hex } from './export-file.ts'

export type BundleVerification = EvidenceVerification & {
  public_keys: string[]
  /** What was changed, in words; empty when nothing was. */
  alterations: string[]
  /** What could not be compared; null when everything was. */
  not_compared: string | null
}

interface VerifyOptions {
  /** The name of its file. */
  file?: string
  /** The key that must have signed it; null for any. */
  public_key: string | null
  /** This version of svc, whose pages it can compare. */
  svc_version: string
}

/** Checks a bundle, as a page or as JSON. */
export function verifyBundle(text: string, { file = '', public_key, svc_version }: VerifyOptions): BundleVerification {
  const misnamed = findNameProblem(file, text)
  const read = misnamed === null ? readBundle(text) : { problem: misnamed }
  if ('problem' in read) return summarize(null, [read.problem], null)
  const { bundle } = read
  if (public_key !== null && bundle.public_key !== public_key)
    return summarize(bundle, [plainLine(`it was signed by another key: ${bundle.public_key}`)], null)
  const { alterations, not_compared } = checkBundleFile(text, bundle, { sha256Hex, svc_version })
  return summarize(bundle, alterations, not_compared)
}

function summarize(bundle: Bundle | null, alterations: string[], not_compared: string | null): BundleVerification {
  const entries = bundle?.turns.flatMap(({ evidence }) => evidence) ?? []
  const named = new Set(alterations.flatMap((text) => /\bentry (\d+)\b/.exec(text)?.[1] ?? []))
  const broken = entries.find(({ seq }) => named.has(String(seq)))
  const isIntact = alterations.length === 0
  return {
    ok: isIntact,
    chains: [
      {
        client_id: bundle?.client_id ?? '-',
        entries: entries.length,
        head: entries.at(-1)?.hash ?? null,
        broken_at: broken?.seq ?? null,
        problem: isIntact ? null : alterations.join('; '),
      },
    ],
    public_keys: bundle === null ? [] : [bundle.public_key],
    alterations,
    not_compared,
  }
}
