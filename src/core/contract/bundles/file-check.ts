/** Whether anything in the file of a bundle was changed since it was signed: its data, and the page around it. */

import type { Sha256Hex } from '../resources/evidence.ts'
import type { Bundle } from './bundle.ts'
import { bundlePage } from './page.ts'
import { findAlterations } from './proof.ts'
import { isBundlePage } from './text.ts'

interface BundleFileCheck {
  /** What was changed, in words; empty when nothing was. */
  alterations: string[]
  /** What could not be compared; null when everything was. */
  not_compared: string | null
}

/**
 * Checks the text of a file against the bundle that was read from it. A page follows from its data, so that any other text in
 * it was put there; only the version that wrote it can tell.
 * @param svc_version this version of svc
 */
export function checkBundleFile(
  text: string,
  bundle: Bundle,
  { sha256Hex, svc_version }: { sha256Hex: Sha256Hex; svc_version: string },
): BundleFileCheck {
  const alterations = findAlterations(bundle, sha256Hex)
  const isPage = isBundlePage(text)
  const isComparable = isPage && bundle.svc_version === svc_version
  if (alterations.length === 0 && isComparable) alterations.push(...findPageChange(text, bundlePage(bundle)))
  const not_compared =
    isPage && !isComparable ? `the page around the data, which svc ${bundle.svc_version} wrote` : null
  return { alterations, not_compared }
}

function findPageChange(text: string, page: string): string[] {
  if (text === page) return []
  const [lines, expected] = [text.split('\n'), page.split('\n')]
  const at = lines.findIndex((line, index) => line !== expected[index])
  return [`the page shows something else than its data, from line ${(at < 0 ? expected.length : at) + 1} on`]
}
