/** Filter lists of ad blockers: `svc qa hosts --filter-list`. */
import { openBlocker } from '#hosts/blocker.ts'
import { check, type FuzzTarget } from '../target.ts'

const requests = [
  { url: 'https://ads.test/v1/render.js', destination: 'script', from: 'https://a.test/' },
  { url: 'https://a.test/banner.png?ad_unit=1', destination: 'image', from: '' },
]

export const target: FuzzTarget = {
  max_bytes: 500,
  words: [
    ...[
      '||ads.test^',
      '@@||',
      '##.ad',
      '#@#',
      '$script',
      '$third-party',
      '$domain=a.test',
      '/banner/',
      '^',
      '*',
      '|',
      '! Title',
      '\n',
    ],
    ...[
      '##:has(',
      ':not(',
      '#?#',
      '##^script',
      '+js(',
      '$removeparam=',
      '$csp=',
      '$redirect=',
      '$important',
      '~',
      '[Adblock]',
    ],
  ],
  run(bytes) {
    const blocker = openBlocker(bytes.toString('utf8'))
    check(Number.isInteger(blocker.count) && blocker.count >= 0, `the list has ${blocker.count} rules`)
    for (const request of requests) {
      const rule = blocker.findBlock(request)
      check(rule === null || (rule !== '' && blocker.count > 0), 'a request is blocked by no rule')
    }
    const { styles, rules } = blocker.hideRules({ url: 'https://a.test/', ids: ['ad', 'ads'], classes: ['ad', 'b'] })
    check(rules.length === 0 || styles !== '', 'rules hide nothing')
  },
}
