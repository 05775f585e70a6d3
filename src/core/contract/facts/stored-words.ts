/** Words that the contract and the rows of a store have in common, without a schema: workers read them too. */
export const modes = ['test', 'live'] as const
export const keyClasses = ['secret', 'publishable'] as const
export const consentStates = ['pending', 'granted', 'denied', 'withdrawn', 'expired'] as const
export const verdicts = ['accepted', 'duplicate', 'rejected'] as const
export const evidenceKinds = ['decision', 'consent', 'beacon'] as const
export const callbackStatuses = ['waiting', 'retrying', 'delivered', 'failed', 'key_lost'] as const
