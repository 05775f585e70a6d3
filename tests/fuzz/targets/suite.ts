/** Suites of `svc qa run`: YAML. */
import { loadSuite } from '#qa/suite/load.ts'
import { readYaml } from '../suite-refusal.ts'
import { check, type FuzzTarget } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 2_000,
  words: [
    ...[
      'suite: ',
      'title: ',
      'cases:',
      '- name: ',
      'steps:',
      'request:',
      'placement:',
      'beacon:',
      'page:',
      'expect:',
      'matrix:',
    ],
    ...[
      'except:',
      'setup:',
      'teardown:',
      'variables:',
      '$' + '{a}',
      '&a ',
      '*a',
      '<<: ',
      '!!map',
      '|\n',
      '>-\n',
      'tags:',
    ],
    ...[
      'timeout: 1s',
      'path: /healthz',
      'method: GET',
      'body.a',
      '$matches',
      '$any',
      'capture:',
      'repeat:',
      'project:',
    ],
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const suite = readYaml(text, () => loadSuite(text, 'suite.yaml', '/'))
    if (suite === null) return
    const lines = text.split(/\r\n|\r|\n/).length
    check(suite.cases.length > 0, 'a suite has no case')
    for (const { name, steps, place } of suite.cases) {
      check(name !== '' && steps.length > 0, 'a case has no name or no step')
      for (const { line } of [place, ...steps.map((step) => step.place)])
        check(line >= 1 && line <= lines, `line ${line} is outside of the file`)
    }
  },
}
