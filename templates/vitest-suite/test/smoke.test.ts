/** One turn over the network: against the sandbox that `svc exec` started or, with `npm run smoke`, the service in `.env`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { report, type Service, sponsoredSlot } from '../src/sponsored.ts'
import { turn } from './sandbox.ts'

const { SVC_BASE_URL = '', SVC_CLIENT_ID = '', SVC_SECRET_KEY = '' } = process.env

test('a turn has a slot, and its beacons are taken', async () => {
  expect(SVC_SECRET_KEY, 'SVC_SECRET_KEY must be a test key').toMatch(/^sk_test_/)
  const service: Service = {
    base_url: SVC_BASE_URL,
    client_id: SVC_CLIENT_ID,
    secret_key: SVC_SECRET_KEY,
    now: () => Date.now(),
    sleep: (ms) => sleep(ms),
  }
  const slot = await sponsoredSlot(service, turn({ session_id: `smoke-${Date.now()}` }))
  expect(slot?.label).toBeTruthy()
  expect(await report(service, slot!, 'render')).toBe(true)
})
