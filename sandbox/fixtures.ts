/** What a start reads from the files of the package: fixtures and version. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import type { Scenario } from '#contract/resources/sandbox/scenarios.ts'
import { MarketData } from '#domain/catalogue.ts'
import { SandboxError } from './sandbox-error.ts'

declare const __SVC_VERSION__: string | undefined

/** The folder of the package, above this file in the source and in the bundle: fixtures and built files are below it. */
export const root = fileURLToPath(new URL('../', import.meta.url))

export function readScenarios(): Scenario[] {
  const folder = join(root, 'fixtures/scenarios')
  const names = readdirSync(folder).toSorted()
  return names.map((name): Scenario => JSON.parse(readFileSync(join(folder, name), 'utf8')))
}

export function readFixture<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, 'fixtures', name), 'utf8'))
}

export interface SeededProject {
  client_id: string
  tenant: number
  keys: { secret_key: string; live_secret_key: string; publishable_key: string }
  settings: Partial<ProjectSettings>
}

/** The catalogue of a start, and its text as stored. */
export interface Demand {
  text: string
  data: { campaigns: { creatives: Record<string, unknown>[] }[] }
}

/** Returns the catalogue of the options, or of the fixtures. @throws SandboxError option_invalid */
export function readDemand(demand: unknown): Demand {
  const text =
    demand === undefined
      ? readFileSync(join(root, 'fixtures/demand.json'), 'utf8')
      : JSON.stringify(checkDemand(demand))
  return { text, data: JSON.parse(text) }
}

/** Returns the catalogue with your own campaigns, before the seeded ones or without them. */
export function joinDemand(own: Omit<MarketData, 'revision'>, isOnly: boolean): Demand {
  const seeded: MarketData = JSON.parse(readDemand(undefined).text)
  const { revision } = seeded
  const data = isOnly
    ? { revision, ...own }
    : {
        ...{ ...own, revision },
        partners: [...seeded.partners, ...own.partners],
        campaigns: [...seeded.campaigns, ...own.campaigns],
      }
  return { text: JSON.stringify(data), data }
}

function checkDemand(demand: unknown): MarketData {
  const read = MarketData.safeParse(demand)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new SandboxError(
    'option_invalid',
    `demand.${issue?.path.join('.')}: ${issue?.message}.`,
    'Give demand the shape of fixtures/demand.json.',
    { cause: read.error },
  )
}

export function listCreativeFiles(campaigns: readonly { creatives: Record<string, unknown>[] }[]): Set<string> {
  const files = new Set<string>()
  for (const { creatives } of campaigns) {
    for (const creative of creatives) {
      for (const name of ['file', 'poster_file', 'image_file', 'icon_file']) {
        if (typeof creative[name] === 'string') files.add(creative[name])
      }
    }
  }
  return files
}

export function packageVersion(): string {
  if (typeof __SVC_VERSION__ === 'string') return __SVC_VERSION__
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}
