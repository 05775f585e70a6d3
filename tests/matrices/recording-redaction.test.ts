/** No key, no token and no prompt text is in a recording, whatever the place of a request it was put in: the whole matrix. */
import { expect, test } from 'vitest'
import { recordingLeaks } from '#tests/reliability/recording-leaks.ts'

test.for([
  // It repeats all that it is sent: whatever another service repeats is in its responses.
  { service: 'echo', every: 1 },
  { service: 'sandbox', every: 5 },
] as const)(
  'no secret and no prompt text is in the file of svc record, in front of $service',
  async ({ service, every }) => {
    const { tried, recorded, found } = await recordingLeaks(service, every)
    console.log(`${tried} cases of secrets and prompt text tried`)
    expect(tried).toBeGreaterThan(100)
    expect(recorded).toBeGreaterThan(tried * 0.9)
    expect(found).toEqual([])
  },
)
