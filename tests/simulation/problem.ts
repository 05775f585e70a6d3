/** Something that must never happen, and the check that has noticed it: one of a whole history, or one of responses. */
import type { CheckName, Problem as HistoryProblem } from '#tests/histories/checks.ts'

export type Problem = HistoryProblem<CheckName | 'rates' | 'refusals' | 'responses' | 'reports'>
