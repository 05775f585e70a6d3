import { expect, test } from 'vitest'
import { defaultSettings, type Latency, ProjectSettingsPatch } from '#contract/resources/projects.ts'
import type { JsonObject } from '#foundation/json.ts'
import { patchBetween, readSettings, toForm, toSettings } from './SettingsControls.tsx'

const json = (settings: unknown) => settings as JsonObject

test.each([
  0,
  250,
  { distribution: 'uniform', min_ms: 1, max_ms: 9 },
  { distribution: 'lognormal', median_ms: 40, sigma: 0.5 },
] satisfies Latency[])('a form that nobody has touched changes nothing: latency %j', (decision_latency_ms) => {
  const settings = {
    ...defaultSettings,
    decision_latency_ms,
    allowed_origins: ['http://localhost:*', 'https://a.example'],
  }
  expect(patchBetween(json(settings), toSettings(settings, toForm(settings)))).toEqual({})
})

test('what the form changes is a patch of the contract, and nothing else is in it', () => {
  const form = {
    ...toForm(defaultSettings),
    enabled: false,
    allowed_origins: ' https://a.example \n\nhttps://b.example',
    rate_beacons: '5/s',
    latency: 'uniform' as const,
    latency_ms: '10',
    latency_spread: '20',
    consent_required: true,
    refuses_personal_data: true,
  }
  const patch = patchBetween(json(defaultSettings), toSettings(defaultSettings, form))
  expect(ProjectSettingsPatch.parse(patch)).toEqual({
    enabled: false,
    allowed_origins: ['https://a.example', 'https://b.example'],
    rate_limits: { beacons: '5/s' },
    decision_latency_ms: { distribution: 'uniform', min_ms: 10, max_ms: 20 },
    consent: { required: true },
    personal_data: 'reject',
  })
})

test('a setting that is removed from the JSON returns to its default', () => {
  const { label_text: _, ...others } = json(defaultSettings)
  expect(patchBetween(json(defaultSettings), others)).toEqual({ label_text: null })
  expect(readSettings('[1]')).toHaveProperty('problem')
  expect(readSettings('{"a":1}')).toEqual({ settings: { a: 1 } })
})
