/** A bundle as evidence: whether anything in its file was changed since a sandbox signed it. */

import type { Bundle } from '#contract/bundles/bundle.ts'
import { bundlePage } from '#contract/bundles/page.ts'
import { findAlterations } from '#contract/bundles/proof.ts'
import { findNameProblem, isBundlePage, readBundle } from '#contract/bundles/text.ts'
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
  const alterations =
    public_key !== null && bundle.public_key !== public_key
      ? [plainLine(`it was signed by another key: ${bundle.public_key}`)]
      : findAlterations(bundle, sha256Hex)
  const isPage = isBundlePage(text)
  const isComparable = isPage && bundle.svc_version === svc_version
  if (alterations.length === 0 && isComparable) alterations.push(...findPageChange(text, bundlePage(bundle)))
  const not_compared =
    isPage && !isComparable ? `the page around the data, which svc ${bundle.svc_version} wrote` : null
  return summarize(bundle, alterations, not_compared)
}

/** The page follows from its data, so that any other text in it was put there. */
function findPageChange(text: string, page: string): string[] {
  if (text === page) return []
  const [lines, expected] = [text.split('\n'), page.split('\n')]
  const at = lines.findIndex((line, index) => line !== expected[index])
  return [`the page shows something else than its data, from line ${(at < 0 ? expected.length : at) + 1} on`]
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
