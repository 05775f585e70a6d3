/** No key, no token and no prompt text is in a recording, whatever the place of a request it was put in: the whole matrix. */
import { expect, test } from 'vitest'
import { recordingLeaks } from '#tests/reliability/recording-leaks.ts'

const services = [
  // It repeats all that it is sent: whatever another service repeats is in its responses.
  { service: 'echo', every: 2 },
  { service: 'sandbox', every: 10 },
] as const

test('no secret and no prompt text is in the file of svc record, whatever the service repeats', async () => {
  for (const { service, every } of services) {
    const { tried, recorded, found } = await recordingLeaks(service, every)
    console.log(`${tried} cases of secrets and prompt text tried, in front of the ${service}`)
    expect(tried).toBeGreaterThan(100)
    expect(recorded).toBe(tried)
    expect(found).toEqual([])
  }
})
