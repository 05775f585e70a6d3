/**
 * The share of long lists of cases that a run of a suite in depth goes through: all of them, or with `SVC_TEST_SHARE=2/3` the second
 * of three, a case in three from the second on. Every kind of case is in each share; `.ci/run` takes one after the other.
 */
const [part, of] = (process.env.SVC_TEST_SHARE ?? '1/1').split('/').map(Number)
if (!(Number.isInteger(part) && Number.isInteger(of) && part! >= 1 && part! <= of!))
  throw new Error('SVC_TEST_SHARE must be like 2/3.')

export const share = {
  of: of!,
  /** Whether the case at a place of a list, from 0, is in the share. */
  has: (index: number) => index % of! === part! - 1,
  /** Returns how many of so many cases are in a share, at least. */
  least: (count: number) => Math.floor(count / of!),
  /** Returns every `step`-th case of the share: the first, and from one to the next. */
  steps: (step: number) => ({ first: step * (part! - 1), step: step * of! }),
}
