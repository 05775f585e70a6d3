/** Files of overrides, and the responses that they change. */
import { applyOverrides, OverridesError, readOverrides } from '#contract/recordings/overrides.ts'
import { looseValue } from '../loose-json.ts'
import { check, checkSame, type FuzzTarget, readOrRefuse } from '../target.ts'

const responses = [
  {
    status: 200,
    body: {
      decision: { format: 'banner', fill: true },
      placement: { render: { label_text: 'Ad' } },
      items: [{ id: 1 }],
    },
  },
  { status: 200, body: { decision: null } },
  { status: 409, body: { reason_code: 'consent_missing', fields: [] } },
  { status: 500, body: null },
]

export const target: FuzzTarget = {
  max_bytes: 2_000,
  words: [
    ...[
      '"overrides"',
      '"endpoint"',
      '"placements.create"',
      '"path"',
      '"value"',
      '"absent"',
      '"status"',
      '"when"',
      '"format"',
    ],
    ...[
      '"reason_code"',
      '"decision.format"',
      '"items[].id"',
      '"__proto__"',
      '"constructor.prototype"',
      '"source"',
      '"seen"',
    ],
  ],
  run(bytes) {
    const overrides = readOrRefuse(() => readOverrides(looseValue(bytes)), OverridesError)
    if (overrides === null) return
    const rules = overrides.find('POST', '/v1/placements') ?? []
    check(rules.length <= overrides.count, 'there are more rules than the file has')
    for (const response of responses) {
      const before = JSON.stringify(response)
      const changed = applyOverrides(rules, response)
      check(JSON.stringify(response) === before, 'a response was changed in place')
      check(changed.status >= 200 && changed.status <= 599, `a status is ${changed.status}`)
      checkSame(applyOverrides(rules, response), changed, 'applied again')
    }
  },
}
