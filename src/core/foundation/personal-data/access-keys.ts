/** Keys of services, by the prefixes that they begin with, and by the word in front of them. */

const privateKey = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY/

/** One prefix each, and as many characters as its shortest key has. */
const prefixed = new RegExp(
  [
    'sk-(?:[a-z]{2,12}\\d{0,2}-)?[A-Za-z0-9_-]{20,}',
    '[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
    'A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])',
    'gh[oprsu]_[A-Za-z0-9]{30,}',
    'github_pat_\\w{30,}',
    'glpat-[\\w-]{20,}',
    'xox[abeprs]-[\\w-]{10,}',
    'AIza[\\w-]{35}',
    'ya29\\.[\\w-]{20,}',
    '(?:npm|hf|dop_v1|shpat|pypi)[_-][A-Za-z0-9]{30,}',
    'SG\\.[\\w-]{20,}\\.[\\w-]{20,}',
    // A signed token: header and claims are JSON, which begins with {" and so with eyJ in base64.
    'eyJ[\\w-]{8,}\\.eyJ[\\w-]{4,}\\.[\\w-]{16,}',
  ]
    .map((form) => `(?<![A-Za-z0-9])${form}`)
    .join('|'),
)

/** A word that names a key, and a value that nobody chooses: long, of letters and digits. */
const named =
  /(?:(?:api|access|secret|private|auth|client)[ _-]?(?:key|token|secret)|bearer)["']?(?: is)?(?:\s*[:=]\s*|\s+)["']?(?=[\w+/-]*[0-9])(?=[\w+/-]*[A-Za-z])[\w+/-]{20,}/i

export function hasAccessKey(text: string): boolean {
  return privateKey.test(text) || prefixed.test(text) || named.test(text)
}
