/** Which findings of `svc observe` are left out because another one has their cause. */
import { expect, test } from 'vitest'
import type { RendererError } from './facts/in-page.ts'
import type { PageSeen } from './facts/page.ts'
import { type Verdict, withoutConsequences } from './observe.ts'
import { observeRules } from './rules/index.ts'

const page = (code: string): PageSeen => {
  const renderer_errors: RendererError[] = [{ type: 'cleared', code, detail: 'slot_1 after 0.3 s' }]
  return { mounts: [], failed_step: null, renderer_errors, is_driven: false, is_headed: false } as unknown as PageSeen
}

/** Verdicts in which an ad of each of these slots was not seen. */
const unseen = (...slots: string[]): Verdict[] =>
  Object.values(observeRules).map((rule) => {
    const requests = slots.map((slot_id) => ({ slot_id })) as unknown as Verdict['findings'][number]['requests']
    return rule.id === 'ads-never-seen'
      ? {
          rule,
          sample_size: 1,
          findings: [{ message: 'Not seen.', requests: requests! }],
          standing: 'warning',
          follows: null,
        }
      : { rule, sample_size: 1, findings: [], standing: 'holds', follows: null }
  })

test.each([
  ['has no finding', 'error', 'fill', 0, null],
  ['may be a network', 'warning', 'fill', 1, null],
  ['came from a burst of requests', 'error', 'burst', 1, null],
  ['was of a page with an error of its own', 'error', 'fill', 1, 'page-errors'],
] as const)('a fill that was not used, and that %s', (_, standing, kind, count, follows) => {
  const fill = { message: 'Unused.', ...(kind === 'burst' && { fix: 'Request one for each turn.' }) }
  const verdicts = unseen().map((verdict): Verdict => {
    if (verdict.rule.id === 'page-errors') return { ...verdict, standing, findings: [{ message: 'An error.' }] }
    return verdict.rule.id === 'fill-unused'
      ? { ...verdict, findings: Array.from({ length: count }, () => fill) }
      : verdict
  })
  const judged = withoutConsequences(verdicts, { ...page(''), renderer_errors: [] })
  const verdict = judged.find(({ rule }) => rule.id === 'fill-unused')
  expect(verdict).toMatchObject({ follows, findings: { length: follows === null ? count : 0 } })
})

test.each([
  ['another ad was not seen either', 'target_removed', ['slot_1', 'slot_2'], null],
  ['the user left the page', 'pagehide', ['slot_1'], null],
  ['the page took it out', 'target_removed', ['slot_1'], 'page-errors'],
  ['the page cleared it', 'cleared', ['slot_1'], 'page-errors'],
])('that an ad was not seen is a finding of its own, unless its loss is one: %s', (_, code, slots, follows) => {
  const verdict = withoutConsequences(unseen(...slots), page(code)).find(({ rule }) => rule.id === 'ads-never-seen')
  expect(verdict).toMatchObject({ follows, findings: { length: follows === null ? 1 : 0 } })
})

test.each([
  ['one ad of several was lost', 'warning', null],
  ['the only one was lost', 'error', 'page-errors'],
] as const)('an error about an unseen ad is kept beside a warning about its loss: %s', (_, standing, follows) => {
  const verdicts = unseen('slot_1').map((verdict): Verdict => {
    if (verdict.rule.id === 'page-errors') return { ...verdict, standing, findings: [{ message: 'A loss.' }] }
    return verdict.rule.id === 'ads-never-seen' ? { ...verdict, standing: 'error' } : verdict
  })
  const mounts = [{ slot_id: 'slot_2' }] as unknown as PageSeen['mounts']
  const judged = withoutConsequences(verdicts, { ...page('target_removed'), mounts })
  expect(judged.find(({ rule }) => rule.id === 'ads-never-seen')).toMatchObject({ follows })
})

const frame = '/v1/frames/ast_1_redacted'

test.each([
  ['of an app', 'error', [['/v1/placement']], null],
  ['of a frame, of a page without another finding', 'holds', [[frame]], null],
  ['of a frame and of an app', 'error', [[frame], ['/v1/placement']], null],
  ['of frames', 'error', [[frame, `${frame}?theme=dark`]], 'frame-blocked'],
] as const)('an unknown path %s', (_, standing, groups, follows) => {
  const strays = groups.map((paths) => {
    const requests = paths.map((path) => ({
      path,
      slot_id: null,
    })) as unknown as Verdict['findings'][number]['requests']
    return { message: 'There is none.', requests: requests! }
  })
  const verdicts = unseen().map((verdict): Verdict => {
    if (verdict.rule.id === 'frame-blocked') return { ...verdict, standing }
    return verdict.rule.id === 'path-unknown' ? { ...verdict, findings: strays } : verdict
  })
  const other_frames = [{ slot_id: 'slot_1', url: `http://127.0.0.1:4010${frame}` }]
  const judged = withoutConsequences(verdicts, { ...page(''), other_frames, renderer_errors: [] })
  const verdict = judged.find(({ rule }) => rule.id === 'path-unknown')
  expect(verdict).toMatchObject({ follows, findings: { length: follows === null ? strays.length : 0 } })
})
