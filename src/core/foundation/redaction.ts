/**
 * Finds keys and tokens anywhere in a text: nothing that is stored, printed or reported may contain one. The shapes are
 * defined in A02 (keys), A04, A05 and A06 (tokens, with an id that begins with a digit up to 7). A secret may be
 * percent-encoded, or written with JSON escapes, more than once: it is found in the decoded text.
 */

/**
 * A key begins where a word does, unless it is long enough to be random, and no words: `task_test_1` and `task_test_regression_suite`
 * are none. The keys of the seed are words. In JSON text and in addresses the letter before it may be that of an escape.
 */
const anyKey =
  /(?:(?<![A-Za-z])|(?<=\\[bfnrt]|\\u[\da-fA-F]{4}|%[\da-fA-F]{2})|(?=[sp]k_(?:test|live)_(?!(?!sandbox_)(?:[a-z]{1,15}\d{0,3}[_-]|\d{1,4}[_-]){0,12}(?:[a-z]{1,15}\d{0,3}|\d{1,4})(?![\w-]))[\w-]{12}))(sk|pk)_(test|live)_[\w-]+/g
/**
 * A token whose end is cut off still counts, and text after a complete one stays. `wst` is a ticket, which opens a
 * socket (C04).
 */
const anyToken = /([aw]st|at|bt)_([0-7][0-9a-z]{10})_(?!redacted)(?:[A-Za-z0-9_-]{43}|[A-Za-z0-9_-]{8,42})/g
/** A token of the control plane (A97). */
const anyControlToken = /sbx_(?!redacted)[A-Za-z0-9_-]{8,}/g
const tokenHere = new RegExp(anyToken.source, 'y')
const idLength = 11

/**
 * Returns `text` with every key and token in it replaced: `sk_test_redacted`, `ast_<id>_redacted`. The character before
 * a token does not matter: in JSON text it may be the letter of an escape. Every response passes here, so it looks only
 * where a prefix ends, in `t_`, `k_test_` or `k_live_`, instead of at every character.
 */
export function redactSecrets(text: string): string {
  const redacted = redactPlain(text)
  return mayBeEncoded(text) ? redactEncoded(redacted) : redacted
}

function redactPlain(text: string): string {
  let redacted = redactTokens(text)
  if (text.includes('k_test_') || text.includes('k_live_')) redacted = redacted.replace(anyKey, '$1_$2_redacted')
  return text.includes('sbx_') ? redacted.replace(anyControlToken, 'sbx_redacted') : redacted
}

function redactTokens(text: string): string {
  let redacted = ''
  let copied = 0
  for (let at = text.indexOf('t_', 1); at !== -1; at = text.indexOf('t_', at + 2)) {
    const before = text[at - 1]
    if (before !== 'a' && before !== 's' && before !== 'b') continue
    tokenHere.lastIndex = before === 's' ? at - 2 : at - 1
    if (!tokenHere.test(text)) continue
    redacted += `${text.slice(copied, at + 't_'.length + idLength + '_'.length)}redacted`
    copied = tokenHere.lastIndex
    at = copied - 2
  }
  return copied === 0 ? text : redacted + text.slice(copied)
}

/*
 * Encoded secrets. Only the percent sign and the characters that secrets consist of are decoded, so that JSON text stays
 * JSON text.
 */

/**
 * `%5F`, `%255F`, `\u005f`, `\\u005f`: one character, encoded any number of times in the same way. A match begins only
 * at the first of several backslashes: otherwise a long row of them would take quadratic time.
 */
const encodedCharacter = /%(?:25)*([2-7][0-9a-f])|(?<!\\)\\+u00([2-7][0-9a-f])/gi
const ofSecrets = /^[A-Za-z0-9_%-]$/

/** The maximum number of nested encodings that are undone. */
const maxRounds = 8

function mayBeEncoded(text: string): boolean {
  return text.includes('%') || text.includes('\\u')
}

/** Yields the text after one, two ... rounds of decoding, without the original text. */
function* decodings(text: string): Generator<string> {
  let last = text
  for (let round = 0; round < maxRounds; round++) {
    const decoded = last.replace(encodedCharacter, (whole, percent?: string, unicode?: string) => {
      const character = String.fromCharCode(Number.parseInt(percent ?? unicode!, 16))
      return ofSecrets.test(character) ? character : whole
    })
    if (decoded === last) return
    yield decoded
    last = decoded
  }
}

/** Returns the text unchanged when it has no encoded secret; otherwise decoded as far as needed, and redacted. */
function redactEncoded(text: string): string {
  let result = text
  for (const decoded of decodings(text)) {
    const redacted = redactPlain(decoded)
    if (redacted !== decoded) result = redacted
  }
  return result === text ? text : redactPlain(result)
}

/** Base64 of ASCII letters, digits, `_` and `-`: it never has the characters 62 and 63, so no escape divides it. */
const base64Run = /[A-Za-z0-9]{11,}/g
/** The maximum number of nested base64 encodings that are undone. */
const maxBase64Depth = 3

/**
 * Returns `text` like `redactSecrets`, and with every run of base64 removed that decodes to a key or token, such as the
 * value of a header `X-Upstream-Auth: Basic ...`. For short texts: it decodes each run from four positions, because the
 * characters before the encoding can belong to base64 too.
 */
export function redactWithBase64(text: string): string {
  return redactSecrets(text).replace(base64Run, (run) => (holdsSecret(run, 1) ? '[redacted]' : run))
}

function holdsSecret(run: string, depth: number): boolean {
  return decodeRun(run).some((decoded) => {
    if (redactSecrets(decoded) !== decoded) return true
    return depth < maxBase64Depth && (decoded.match(base64Run) ?? []).some((inner) => holdsSecret(inner, depth + 1))
  })
}

function decodeRun(run: string): string[] {
  return [0, 1, 2, 3].map((offset) => Buffer.from(run.slice(offset), 'base64').toString('latin1'))
}

/**
 * The password of a URL, after its user. It can contain the characters that would end it, so it goes up to the last `@`
 * of its word. In a URL of the web, digits before `/`, `?` or `#` are a port, unless an `@` comes before the next of
 * these; digits before `?name=` always are.
 */
const urlPassword =
  /(:\/\/(?!\[[\da-f:.]+\])[^\s/:@]*):(?!(?<=\b(?:http|ws)s?:\/\/[^\s/:@]*:)\d{1,5}(?:\?[\w.-]+=|[/?#](?![^\s/?#@]*@)))\S*@/gi

/** Returns the words of a command line in a form that can be shown: without keys, tokens and the passwords of URLs. */
export function shownCommand(words: readonly (string | undefined)[]): string {
  return redactSecrets(words.join(' '))
    .replace(/\S+/g, withoutPasswords)
    .replace(/(password=)[^\s&]+/gi, '$1***')
}

/** A password ends at an `@`: behind the last one of a word there is none to look for. */
function withoutPasswords(word: string): string {
  const end = word.lastIndexOf('@') + 1
  return end === 0 ? word : word.slice(0, end).replace(urlPassword, '$1:***@') + word.slice(end)
}

/* Secrets in fields where none belongs (A94). */

const suspicious = /[ab]t_[0-7]|k_(?:test|live)_|sbx_|%|\\u/

/**
 * Whether the text of a body may contain a key or a token, plain or encoded, other than the asset token of a field
 * `asset_token`. Every body passes here: it never misses a text that contains one, and is quick about the others.
 */
export function mayHoldSecrets(text: string): boolean {
  if (suspicious.test(text)) return true
  for (let at = text.indexOf('ast_'); at !== -1; at = text.indexOf('ast_', at + 4)) {
    if (!text.startsWith('"asset_token":"', at - 15) && !text.startsWith('"asset_token": "', at - 16)) return true
  }
  return false
}

/** `task_test_1` is not a key: a key begins where a word does, unless it is long enough to be random. */
const secretKey = /(?<![A-Za-z0-9])sk_(?:test|live)_(?!redacted\b)[A-Za-z0-9_-]+|sk_(?:test|live)_[A-Za-z0-9_-]{32,}/
const secretToken = /([ab]t)_[0-7][0-9a-z]{10}_[A-Za-z0-9_-]{43}/
const controlToken = /sbx_[A-Za-z0-9_-]{32}/
const assetToken = /ast_[0-7][0-9a-z]{10}_[A-Za-z0-9_-]{43}/
const anyAssetToken = /ast_([0-7][0-9a-z]{10})_[A-Za-z0-9_-]{43}/g

type SecretKind = 'secret key' | 'activation token' | 'beacon token' | 'control-plane token'

/** Returns the kind of secret in a value, plain or encoded, that belongs only in a header. */
export function secretKind(text: string): SecretKind | null {
  const found = plainSecretKind(text)
  if (found !== null || !mayBeEncoded(text)) return found
  for (const decoded of decodings(text)) {
    const inner = plainSecretKind(decoded)
    if (inner !== null) return inner
  }
  return null
}

function plainSecretKind(text: string): SecretKind | null {
  if (secretKey.test(text)) return 'secret key'
  if (controlToken.test(text)) return 'control-plane token'
  const token = secretToken.exec(text)
  if (token === null) return null
  return token[1] === 'at' ? 'activation token' : 'beacon token'
}

/** Returns a value without the secrets of the asset tokens in it, plain or encoded. */
export function withoutAssetTokens(text: string): string {
  const plain = text.replace(anyAssetToken, 'ast_$1_redacted')
  return mayBeEncoded(plain) && [...decodings(plain)].some((decoded) => assetToken.test(decoded))
    ? redactSecrets(plain)
    : plain
}

/** Calls `replace` for every key and token of a text: for replacements other than those of `redactSecrets`. */
export function replaceSecrets(
  text: string,
  replace: (secret: { kind: 'sk' | 'pk' | 'ast' | 'wst' | 'at' | 'bt'; mode: 'test' | 'live' | null }) => string,
): string {
  return text
    .replace(anyToken, (_, kind: 'ast' | 'wst' | 'at' | 'bt') => replace({ kind, mode: null }))
    .replace(anyKey, (_, kind: 'sk' | 'pk', mode: 'test' | 'live') => replace({ kind, mode }))
}
