/**
 * Finds keys and tokens anywhere in a text and replaces them: nothing that is stored, printed or reported may hold one.
 * The shapes are those of A02 (keys), A04, A05 and A06 (tokens).
 */

const anyKey = /(sk|pk)_(test|live)_[A-Za-z0-9_-]+/g
const anyToken = /(ast|at|bt)_([0-9a-z]{11})_[A-Za-z0-9_-]{8,}/g
const tokenHere = /(?:ast|at|bt)_[0-9a-z]{11}_[A-Za-z0-9_-]{8,}/y
const idLength = 11

/**
 * Returns `text` with every key and token in it replaced: `sk_test_redacted`, `ast_<id>_redacted`. What precedes one
 * does not matter: in JSON text it may be the letter of an escape. Every response passes here, so it looks only where a
 * prefix ends, in `t_`, `k_test_` or `k_live_`, instead of at every character.
 */
export function redactSecrets(text: string): string {
  const tokens = redactTokens(text)
  const hasKeys = text.includes('k_test_') || text.includes('k_live_')
  return hasKeys ? tokens.replace(anyKey, '$1_$2_redacted') : tokens
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

/** Calls `replace` for every key and token of a text: for other replacements than `redactSecrets` makes. */
export function replaceSecrets(
  text: string,
  replace: (secret: { kind: 'sk' | 'pk' | 'ast' | 'at' | 'bt'; mode: 'test' | 'live' | null }) => string,
): string {
  return text
    .replace(anyToken, (_, kind: 'ast' | 'at' | 'bt') => replace({ kind, mode: null }))
    .replace(anyKey, (_, kind: 'sk' | 'pk', mode: 'test' | 'live') => replace({ kind, mode }))
}
