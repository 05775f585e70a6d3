/** The escapes of addresses, of JSON and scripts, of CSS and of HTML, undone one layer at a time. */

/** An escape of JSON or a script, of HTML: `%u005f`, `\u005f`, `\x5f`, `\137`, `\n`, `&#95;`, `&quot;`; of an address, `%5f`, as many as follow each other. Zeros may precede the digits. */
export const everyEscape =
  /((?:%[\da-f]{2}){1,4096})|(?:\\|%)u(?:\{0{0,64}([\da-f]{1,6})\}|([\da-f]{4}))|\\x([\da-f]{2})|\\([0-3]?[0-7]{1,2})|\\([bfnrtv"'`/\\])|&#0{0,64}(\d{1,8});?|&#x0{0,64}([\da-f]{1,7});?|&([a-z]{2,10});|\0/gi
/** An escape of CSS for a character of ASCII, with the blank that ends it, and one of eight digits. A script reads the first as octal digits. */
const otherEscape = /\\(?:0{4}[2-7][\da-f]|0{0,3}[2-7][\da-f](?![\da-f]))[ \t\r\n]?|\\U0{6}[2-7][\da-f]/gi
/** An escape for a byte that is no character of ASCII. */
const otherByte = /%[^2-7]|\\u00[^2-7]|\\x[^2-7]|&#/i
/** Characters and escapes of a word: a match of many more needs more memory than the engine has for one. */
const partOfWord = /(?:%[\da-f]{2}|\\u[\da-f]{4}|\\x[\da-f]{2}|&#x?0{0,64}[\da-f]{1,8};|[\w.~*()!+/-]){1,65536}/gi
const shortEscapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }),
)
/** The characters that the entities of HTML with a name stand for, of ASCII. */
export const namedEntities: ReadonlyMap<string, string> = new Map(
  Object.entries({
    quot: '"',
    apos: "'",
    amp: '&',
    lt: '<',
    gt: '>',
    colon: ':',
    equals: '=',
    num: '#',
    sol: '/',
  }).concat(
    Object.entries({
      quest: '?',
      commat: '@',
      lowbar: '_',
      underbar: '_',
      nbsp: ' ',
      period: '.',
      hyphen: '-',
      dash: '-',
    }),
  ),
)

/** Whether a text has an escape. */
export function hasEscapes(text: string): boolean {
  return text.search(everyEscape) !== -1
}

/** Yields a text with one layer of its escapes undone, in each way in which they can be read. */
export function* listUnescaped(text: string): Generator<string> {
  if (!hasEscapes(text)) return
  yield undoEscapes(text, false)
  const plain = text.replace(otherEscape, (code) => String.fromCharCode(Number.parseInt(code.trim().slice(-2), 16)))
  if (plain !== text) yield plain
  // Bytes that are no text, such as those of gzip.
  if (!otherByte.test(text)) return
  for (const word of listWords(text)) if (otherByte.test(word)) yield undoEscapes(word, true)
}

function* listWords(text: string): Generator<string> {
  let word = ''
  let end = 0
  for (const { 0: part, index } of text.matchAll(partOfWord)) {
    if (index > end) {
      yield word
      word = ''
    }
    word += part
    end = index + part.length
  }
  yield word
}

/** Returns a text with one layer of its escapes undone. @param asBytes whether a character up to U+00FF is a byte */
function undoEscapes(text: string, asBytes: boolean): string {
  return text.replace(everyEscape, (whole, percent, braced, unit, hex, octal, short, decimal, entityHex, name) => {
    if (percent !== undefined) return Buffer.from(percent.replaceAll('%', ''), 'hex').toString('latin1')
    if (short !== undefined) return shortEscapes.get(short) ?? short
    if (name !== undefined) return namedEntities.get(name.toLowerCase()) ?? whole
    if (whole === '\0') return ''
    const digits = braced ?? unit ?? hex ?? entityHex
    const code =
      digits === undefined
        ? Number.parseInt(octal ?? decimal, octal === undefined ? 10 : 8)
        : Number.parseInt(digits, 16)
    if (code > 0x10ffff) return whole
    return code < 0x80 || (asBytes && code < 0x100)
      ? String.fromCharCode(code)
      : Buffer.from(String.fromCodePoint(code)).toString('latin1')
  })
}
