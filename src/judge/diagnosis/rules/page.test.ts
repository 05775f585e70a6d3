/** What `svc observe` says of an ad in a page: what was seen of it, and what the service says of its bill. */
import { expect, test } from 'vitest'
import type { BillingVerdict } from '#contract/resources/placements.ts'
import type { Mount } from '../facts/mounts.ts'
import type { Facts } from '../rule.ts'
import { pageRules } from './page.ts'

const mount: Partial<Mount> = { slot_id: 'slot_1', width: 300, height: 250, is_drawn: true, in_view_ms: 3_000 }
const visible = { hidden_by: null, colors: 1, shared_id: null, label: 'Sponsored', seen_share: 1, sought_ms: 0 }
const frame = { method: 'GET', path: '/v1/render/ast_1', status: 200, slot_id: 'slot_1', request_headers: {} }
const price = { metric: 'viewable_impression', gross_cpm: 2.1, currency: 'USD' } as const
const paid: BillingVerdict = { ...price, would_bill: true, explanation: 'One viewable impression counted.' }
const unpaid: BillingVerdict = { ...price, would_bill: false, explanation: 'No viewable impression: too small.' }

const buildFacts = (more: Partial<Mount>, bill?: BillingVerdict) =>
  ({
    page: { mounts: [{ ...mount, ...visible, ...more }] },
    observed: { exchanges: [frame], bills: new Map(bill ? [['slot_1', bill]] : []) },
  }) as unknown as Facts['page']

test.each([
  ['slot-blank', {}, 'The ad of slot_1, 300 × 250, is a single colour.'],
  ['slot-hidden', { width: 5 }, 'The ad of slot_1 is 5 × 250 pixels.'],
  ['label-hidden', { label: null }, 'Nothing visible next to the ad of slot_1 marks it as an ad.'],
] as const)('%s says what the service would bill, in the words of svc explain', (id, more, seen) => {
  const messages = [undefined, paid, unpaid].map(
    (bill) => pageRules[id].judge(buildFacts(more, bill)).findings.map(({ message }) => message)[0],
  )
  expect(messages).toEqual([
    seen,
    `${seen} The service would bill a viewable_impression, 2.1 USD CPM. One viewable impression counted.`,
    `${seen} The service would not bill a viewable_impression, 2.1 USD CPM. No viewable impression: too small.`,
  ])
  // What a rule says of every page must not contradict that.
  expect(pageRules[id].costs).not.toMatch(/paid|billed/)
})
