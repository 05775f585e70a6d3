/** Our own readings of JSON beside that of the engine: places of mistakes, exact numbers. */
import { parseExactly, replaceExactNumbers } from '#foundation/json/exact-numbers.ts'
import { describeJsonProblem, parseJsonPart } from '#foundation/json/syntax.ts'
import { parseJson } from '#foundation/json.ts'
import { check, checkLine, checkSame, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 300,
  words: [
    '9007199254740993',
    '0.10000000000000000001',
    '1e400',
    '-0',
    '"\\u0000"',
    '"\\ud800"',
    'true',
    'null',
    '[[[[',
    '{"a":',
    '\ufeff',
    '// a',
    '/**/',
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const value = parseJson(text)
    const part = parseJsonPart(text, 0, text.length)
    if (value === undefined) {
      check('problem' in part, 'a text that is no JSON was read')
      check(parseExactly(text) === undefined, 'a text that is no JSON was read exactly')
      const sentence = describeJsonProblem(text)
      // A word of another language is named.
      checkLine(sentence.replace(/(?:NaN|undefined) is not a JSON value/, ''))
      const [, line, column] = /^Line (\d+), column (\d+): /.exec(sentence) ?? []
      check(line !== undefined && Number(line) <= text.split('\n').length && Number(column) >= 1, sentence)
      return
    }
    if ('problem' in part) check(part.problem.includes('deeper'), `JSON was refused: ${part.problem}`)
    const exact = parseExactly(text)
    checkSame(replaceExactNumbers(exact, Number), value, 'read exactly')
    checkSame(JSON.parse(JSON.stringify(exact)), value, 'written exactly')
  },
}
