import { expect, test } from 'vitest'
import { SuiteError } from '#yaml/problems.ts'
import { loadSuite } from './load.ts'

/** Returns the problems of a suite, without the name of its file. */
function problems(text: string): string[] {
  try {
    loadSuite(text, 'x', '/')
    return []
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return error.message.split('\n').map((line) => line.replace(/^x:/, ''))
  }
}

const head = 'suite: shop\ntitle: A shop\ncases:\n'
const step = (text: string) => `${head}  - name: one\n    steps:\n      - ${text}\n`

test('a good suite has no problem', () => {
  expect(problems(step('placement: { format: banner }'))).toEqual([])
})

test('every problem is reported at once, by its place', () => {
  const text = `suite: Shop
titel: A shop
matrix:
  format: [banner]
cases:
  - name: one
    matrix: [formt]
    except: [{ colour: red }]
    steps:
      - placemnt: { format: banner }
      - placement: { formt: banner, job_type: talk }
        expct: { status: 200 }
`
  expect(problems(text)).toEqual([
    '1:1: title is missing. What it checks, in one line.',
    '1:8: suite must be lower-case letters, digits and -, beginning with a letter. Name of the suite.',
    '2:1: Unknown field titel. Did you mean title?',
    '7:14: The suite has no matrix named formt. Did you mean format?',
    '8:16: This case has no matrix named colour. There are none.',
    '10:9: placemnt is not an action. Did you mean placement?',
    '11:22: Unknown field formt in placement. Did you mean format?',
    '11:47: placement.job_type cannot be "talk". Known: chat, code, image, voice, agent.',
    '12:9: Unknown field expct. Did you mean expect?',
  ])
})

test.each([
  ['call: placements.creat', '6:15: call cannot be "placements.creat". Did you mean placements.create?'],
  ['placement: { topic: "{{topc}}" }', '6:29: There is no variable named topc here.'],
  ['{ placement: { topic: "{{session +}}" } }', 'has a variable that cannot be read.'],
  ['frame: p', '6:16: There is no earlier step named p. Name the step that you mean: as: p'],
  ['{ placement: {}, poll: p }', '6:9: A step has one action; this one has 2: placement, poll.'],
  ['name: nothing', '6:9: This step has no action.'],
  ['just text', '6:9: A step must be an object.'],
  ['clock: { advance: tomorrow }', '6:27: clock.advance must be a time such as 500ms, 10s or 31m'],
  ['clock: { advance: 31 }', '6:27: clock.advance must have a unit: 31 is 31 milliseconds; write 31s, or 31ms'],
  ['{ reset: null, timeout: soon }', '6:33: timeout must be a time'],
  [
    '{ beacon: render, expect: { reason: OK } }',
    '6:45: OK is not the reason_code of an error. Accepted beacons have it: body: { reason_code: OK }',
  ],
  ['{ placement: {}, expect: { reason: key_clas } }', '6:44: key_clas is not a reason_code. Did you mean key_class?'],
  ['{ placement: {}, expect: { body: { a: { $gtt: 3 } } } }', '6:55: $gtt is not an operator. Did you mean $gt?'],
  ['{ placement: {}, expect: { body: { a: { $gt: high } } } }', '$gt takes a number.'],
  ['{ placement: {}, expect: { body: { a: { $matches: "(" } } } }', '$matches takes a regular expression'],
  [
    '{ placement: {}, expect: { events: [beacon.acepted] } }',
    'expect.events.0 cannot be "beacon.acepted". Did you mean beacon.accepted?',
  ],
  ['{ placement: {}, expect: { same_as: p } }', 'There is no earlier step named p.'],
  ['{ ledger: null, key: secret }', '6:25: Unknown field key.'],
])('%s', (text, problem) => {
  const found = problems(step(text))
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(problem)
})

test('a value may be a variable wherever its type is not text', () => {
  const text = `${head}  - name: "{{format}}"
    matrix: { format: [banner, clip], n: [1, 2] }
    steps:
      - placement: { format: "{{format}}", max_width: "{{n}}" }
        as: first
        repeat: "{{n}}"
        expect: { body: { slot_id: "{{first.body.slot_id}}" } }
      - clock: { set: "{{now_ms}}" }
`
  expect(problems(text)).toEqual([])
})

test('a step is known after it, not before', () => {
  const text = `${head}  - name: one
    steps:
      - poll: p
      - { placement: {}, as: p }
      - poll: p
`
  expect(problems(text)).toEqual(['6:15: There is no earlier step named p. Name the step that you mean: as: p'])
})

test('two cases of one name, and text that is not YAML', () => {
  expect(problems(`${step('placement:')}  - name: one\n    steps: [{ placement: {} }]\n`)).toEqual([
    '7:11: There is already a case named "one". Give it another name.',
  ])
  expect(problems('suite: [')[0]).toMatch(/^1:9: This is not YAML: /)
  expect(problems('')).toEqual(['1:1: This must be an object, not null.'])
  expect(problems('suite: shop\ntitle: A shop\ncases: []\n')).toEqual(['3:8: cases must not be empty.'])
})

test('several documents in one file are refused where the second begins; the marks of one are not', () => {
  const one = step('placement:')
  expect(problems(`---\n${one}...\n`)).toEqual(problems(one))
  const second = one.split('\n').length
  expect(problems(`${one}---\n${one}`)).toEqual([
    `${second}:1: This file has several YAML documents, and only one is read. Write a file for each, and leave out the lines with ---.`,
  ])
})

test('a matrix of more cases than a suite may have is refused with their number', () => {
  const values = `[${Array.from({ length: 50 }, (_, index) => index).join(', ')}]`
  const axes = ['a', 'b', 'c', 'd', 'e', 'f']
  const head = `suite: s\ntitle: t\nmatrix:\n${axes.map((name) => `  ${name}: ${values}\n`).join('')}cases:\n`
  const steps = 'steps: [{ placement: {} }]'
  expect(() => loadSuite(`${head}  - { name: x, matrix: [${axes.join(', ')}], ${steps} }\n`, 's.yaml', '/')).toThrow(
    's.yaml:11:24: This matrix makes 15,625,000,000 cases (50 x 50 x 50 x 50 x 50 x 50). A suite may have at most 10,000: leave out values or axes.',
  )
  const many = Array.from({ length: 5 }, (_, index) => `  - { name: x${index}, matrix: [a, b], ${steps} }\n`).join('')
  expect(() => loadSuite(head + many, 's.yaml', '/')).toThrow(
    's.yaml:15:25: This matrix brings the suite to 12,500 cases. A suite may have at most 10,000',
  )
})

test.each([
  [
    'an unknown alias',
    'suite: s\ntitle: *gone\n',
    's.yaml:2:8: There is no anchor for the alias *gone. An anchor must come before its aliases: &gone',
  ],
  [
    'an alias of itself',
    'suite: s\ncases: &a\n  - *a\n',
    's.yaml:3:5: The alias *a is within its own anchor. Write the value out.',
  ],
  [
    'an alias of itself, by another',
    'a: &a { b: &b { c: *a } }\n',
    's.yaml:1:20: The alias *a is within its own anchor.',
  ],
  [
    'a merge of no map',
    'a: &a 1\nb: { <<: *a }\n',
    's.yaml:2:10: This is not YAML: Merge sources must be maps or map aliases',
  ],
  ['nesting without end', `a: ${'['.repeat(50_000)}`, 'This is not YAML: it is nested too deeply.'],
  [
    'nesting',
    `a: ${'['.repeat(300)}${']'.repeat(300)}`,
    's.yaml:1:202: This is nested too deeply. A value may have at most 100 levels.',
  ],
])('%s is a problem of the file, with its place', (_, text, message) => {
  expect(() => loadSuite(text, 's.yaml', '/')).toThrow(message)
})

test('aliases that multiply are refused before they take memory', () => {
  const levels = Array.from(
    { length: 30 },
    (_, index) => `l${index + 1}: &l${index + 1} [${`*l${index}, `.repeat(9)}*l${index}]`,
  )
  expect(() => loadSuite(`l0: &l0 [x]\n${levels.join('\n')}\n`, 's.yaml', '/')).toThrow(
    'The aliases of this file expand to too large a value. Write the values out.',
  )
})
