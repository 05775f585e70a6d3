/** E-mail addresses, also as people write them to hide them from programs: `ann (at) example (dot) org`. */

/** Characters that an address has before its @, without those that only quoted ones have. */
const localPart = /[\p{L}\p{M}\p{N}"%+'’._-]{1,64}$/u
const domain = /^(?:[\p{L}\p{M}\p{N}-]{1,63}\.){1,8}(?:\p{L}[\p{L}\p{M}]{1,23}|xn--[a-z0-9-]{2,59})(?![\p{L}\p{N}])/iu
const maxLocalChars = 64
const maxDomainChars = 255

/** `git@host.example:path` is the address of a repository, and `logo@2x.png` is a picture. */
const repositoryUser = /(?:^|[^\p{L}\p{N}._-])(?:git|hg|svn)$/u
const pictureScale = /^[1-9](?:\.5)?x\.[a-z]/i

const hidden =
  /[\w.+-]{1,64} ?(?:\[|\(|\{) ?(?:at|@|ät) ?(?:\]|\)|\}) ?[\w-]{1,63}(?: ?(?:\.|[[({] ?(?:dot|punkt|point|punto|\.) ?[\])}]) ?[a-z][\w-]{1,62}){1,4}/i

/** `ann at example dot org`. */
const spoken =
  /[\w.+-]{2,64} at [\w-]{2,63}(?: dot [a-z][\w-]{1,62}){0,3} dot (?:com|org|net|edu|info|biz|app|dev|io|ai|co|[a-z]{2})(?![\w-])/i

export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (isAddressAround(text, at)) return true
  }
  if (text.includes(' dot ') && spoken.test(text)) return true
  return /[[({] ?(?:at|@|ät) ?[\])}]/i.test(text) && hidden.test(text)
}

function isAddressAround(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - maxLocalChars), at)
  const after = text.slice(at + 1, at + 1 + maxDomainChars)
  if (!localPart.test(before) || !domain.test(after)) return false
  return !repositoryUser.test(before) && !pictureScale.test(after)
}
