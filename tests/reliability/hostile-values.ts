/** Values that strangers send: texts and numbers at which programs, databases and protocols break. */

/** Texts, by what is wrong with them. */
export const hostileTexts: Readonly<Record<string, string>> = {
  empty: '',
  space: ' ',
  NUL: '\0',
  'NUL inside': 'a\0b',
  'a control character': 'a\u0007b',
  'line ends': 'a\r\nset-cookie: b=c',
  'a lone surrogate': 'a\ud800b',
  'a lone low surrogate': '\udfff',
  'a pair of surrogates': '😀',
  'an astral noncharacter': '\u{1ffff}',
  'a byte order mark': '\ufeffa',
  'another script': 'Ünïcode Ελληνικά 日本語',
  'from right to left': '\u202eabc',
  combining: `a${'\u0301'.repeat(40)}`,
  '2^53': '9007199254740992',
  '2^53 + 1': '9007199254740993',
  '2^63': '9223372036854775808',
  '2^64': '18446744073709551616',
  negative: '-1',
  'a fraction': '0.5',
  'a power': '1e308',
  'beyond doubles': '1e999',
  NaN: 'NaN',
  hexadecimal: '0x10',
  'a quotation mark': `'; DROP TABLE slot; --`,
  'double quotes': '"$1"',
  'a pattern': '%_*?[a-z]',
  'a path': '../../etc/passwd',
  percent: '%',
  'an encoded NUL': '%00',
  JSON: '{"a":[1]}',
  'a name of every object': '__proto__',
  'a name of every function': 'constructor',
  long: 'a'.repeat(300),
  'very long': 'a'.repeat(6_000),
}

/** Values of JSON where another type, or another size, belongs. */
export const hostileJson: readonly unknown[] = [
  ...Object.values(hostileTexts),
  ...[null, true, 0, -1, 0.5, 1e308, -0, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 53)],
  ...[[], {}, [null], [[]], { a: null }, Array.from({ length: 200 }, (_, index) => index), ['a\0b'], { 'a\0b': 1 }],
]

/** Parts of a URL that are not the UTF-8 of any text, by what is wrong with them. */
export const hostileBytes: Readonly<Record<string, string>> = {
  'a byte alone': '%ff',
  'a surrogate in bytes': '%ED%A0%80',
  'too long an encoding': '%C0%80',
  'half an escape': '%E2%82',
  'no escape': '%zz',
}
