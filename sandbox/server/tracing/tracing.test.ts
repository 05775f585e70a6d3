import { expect, test } from 'vitest'
import { tracesUrl } from './tracing.ts'

test.each([
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/v1/traces/', 'http://127.0.0.1:4318/v1/traces'],
  ['https://otlp.example/otlp', 'https://otlp.example/otlp/v1/traces'],
  ['https://otlp.example/otlp/?token=a', 'https://otlp.example/otlp/v1/traces?token=a'],
  ['https://otlp.example/v1/traces?token=a', 'https://otlp.example/v1/traces?token=a'],
  ['https://otlp.example/intake/v2/traces', 'https://otlp.example/intake/v2/traces'],
])('spans for %s are sent to %s', (endpoint, url) => {
  expect(tracesUrl(endpoint)).toBe(url)
})
