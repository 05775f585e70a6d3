/** Something that must never happen, and the model that has noticed it. */
export interface Problem {
  model:
    | 'writes'
    | 'evidence'
    | 'consent'
    | 'billing'
    | 'tokens'
    | 'rates'
    | 'events'
    | 'decisions'
    | 'refusals'
    | 'responses'
    | 'reports'
  text: string
}
