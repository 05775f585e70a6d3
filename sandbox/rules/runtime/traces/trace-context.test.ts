import { expect, test } from 'vitest'
import { readTraceContext } from './trace-context.ts'

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test.each([
  ['congo=t61rcWkgMzE,rojo=00f067aa0ba902b7', 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'],
  ['a=b, key=sk_live_ABCDEFGHIJKLMNOPQRSTUVWX', 'a=b'],
  ['user=ann.smith@example.org,a=b', 'a=b'],
  ['token=at_0000000000a_secretsecretsecret', null],
  ['a=b,a=c', null],
])('of the tracestate %s, %j is passed on', (sent, passed) => {
  expect(readTraceContext(parent, sent)?.state).toBe(passed)
})
