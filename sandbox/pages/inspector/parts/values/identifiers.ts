/** Kinds of identifiers and the routes of their pages. */
/** The folder of each kind of identifier, below /_sandbox. */
const folders = {
  placement: 'placements',
  job: 'jobs',
  campaign: 'campaigns',
  request: 'requests',
  beacon: 'beacons',
  session: 'sessions',
  project: 'projects',
  consent: 'consent',
  key: 'keys',
  evidence: 'evidence',
  callback: 'callbacks',
}

export type IdKind = keyof typeof folders

/** Returns the route of an identifier's page, below /_sandbox. */
export function routeTo(kind: IdKind, id: string): string {
  return `/${folders[kind]}/${encodeURIComponent(id)}`
}

const prefixes: readonly (readonly [RegExp, IdKind])[] = [
  [/^slot_[0-9a-z]{11}$/, 'placement'],
  [/^job_[0-9a-z]{11}$/, 'job'],
  [/^cmp_[0-9a-z_]{1,64}$/, 'campaign'],
  [/^req_[0-9a-z]{11}$/, 'request'],
  [/^cns_[0-9a-z]{11}$/, 'consent'],
  [/^key_[0-9a-z]{11}$/, 'key'],
  [/~\d+$/, 'evidence'],
  [/^proj_/, 'project'],
]

/** Returns what an identifier is by its form; null for those that have none: sessions, beacons, renamed projects. */
export function detectKind(id: string): IdKind | null {
  return prefixes.find(([pattern]) => pattern.test(id))?.[1] ?? null
}
