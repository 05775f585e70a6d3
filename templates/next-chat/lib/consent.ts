/** What the browser may know of the user's answer. */
export interface ConsentView {
  decision: 'granted' | 'denied'
  decided_at_ms: number
  /** Whether questions may be sent, to choose suggestions by them. */
  shares_questions: boolean
}
