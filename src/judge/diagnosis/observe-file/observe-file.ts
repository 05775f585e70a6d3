/** `svc.observe.yaml`: what a project accepts for a while, which placements it plans, and which rules it turns off. */
import { z } from 'zod'
import { Format, JobType, Position, type positions } from '#contract/fields.ts'
import { BeaconEvent } from '#contract/resources/beacons.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { parseYaml } from '#yaml/parse.ts'
import { findProblems, type Path, type Places, SuiteError, type SuiteProblem } from '#yaml/problems.ts'

/** A place in the file, counted from 1. */
interface At {
  line: number
  column: number
}

/** A finding that is known. `until` is its last day, `2027-02-28`, UTC. */
export interface AcceptEntry extends At {
  rule: string
  where: string
  until: string
  why: string
}

/** A rule that does not apply. */
export interface OffEntry extends At {
  rule: string
  why: string
}

/** A placement that is planned. A field that is left out may have any value. */
export interface PlannedEntry extends At {
  surface?: JobType | undefined
  format?: Format | undefined
  position?: (typeof positions)[number] | undefined
  /** The beacons of it that must be accepted. */
  events?: readonly BeaconEvent[] | undefined
}

export interface ObserveFile {
  /** As messages name it. */
  path: string
  accept: readonly AcceptEntry[]
  /** Null when the file plans nothing: then no placement is unplanned. */
  expect: readonly PlannedEntry[] | null
  off: readonly OffEntry[]
}

/** Returns the schema of the files, for rules of a schema: editors get a list of them, and the reader names the nearest. */
function fileSchema(rule: z.ZodType<string>) {
  const id = rule.describe('The id of the rule with its suite, as reports have it: observe/pending-given-up.')
  const why = z.string().min(1, 'must not be empty').describe('Why, for the next reader of the file.')
  return z.strictObject({
    accept: z
      .array(
        z.strictObject({
          rule: id,
          where: z
            .string()
            .min(1, 'must not be empty')
            .max(500)
            .describe('What the finding is about, as svc observe --accept-current writes it; * stands for any text.'),
          until: z.iso
            .date('must be a day of the calendar, such as 2027-02-28')
            .describe('The last day on which it is accepted, UTC: 2027-02-28.'),
          why,
        }),
      )
      .optional()
      .describe('Findings that are known. One that no longer occurs, or whose day has passed, is a finding.'),
    expect: z
      .array(
        z.strictObject({
          surface: JobType.optional().describe('job_type of the request.'),
          format: Format.optional().describe('Format of the fill.'),
          position: Position.optional().describe('slot_hint.position of the request.'),
          events: z.array(BeaconEvent).min(1).optional().describe('Events of which a beacon must be accepted.'),
        }),
      )
      .optional()
      .describe('Placements that are planned: each must be seen, and no other.'),
    off: z
      .array(z.strictObject({ rule: id, why }))
      .optional()
      .describe('Rules that do not apply.'),
  })
}

const FileData = fileSchema(z.string())
type FileData = z.infer<typeof FileData>

/** Returns the JSON schema of the files, for editors: `fixtures/svc.observe.schema.json`. */
export function observeFileSchema(rules: readonly string[]): object {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema(z.enum(rules)), { io: 'input', reused: 'ref' })
  return { $schema, $id: 'urn:svc:observe:v1', ...schema }
}

/**
 * Returns the contents of a file. `path` is its name in messages, `rules` the ids that it may name. Throws SuiteError with
 * everything that is wrong, each with its place.
 */
export function loadObserveFile(text: string, path: string, rules: readonly string[]): ObserveFile {
  const { value, places } = parseYaml(text, path)
  // A file of comments has no value.
  const given = value ?? {}
  const problems = findProblems(FileData, given, [], places)
  if (problems.length > 0) throw new SuiteError(problems)
  const data = given as FileData
  const wrong = [...unknownRules(data, rules, places), ...emptyPlans(data, places)]
  if (wrong.length > 0) throw new SuiteError(wrong)
  const at = (entryPath: Path): At => {
    const { line, column } = places.of(entryPath)
    return { line, column }
  }
  return {
    path,
    accept: (data.accept ?? []).map((entry, index) => ({ ...entry, ...at(['accept', index]) })),
    expect: data.expect?.map((entry, index) => ({ ...entry, ...at(['expect', index]) })) ?? null,
    off: (data.off ?? []).map((entry, index) => ({ ...entry, ...at(['off', index]) })),
  }
}

function unknownRules({ accept = [], off = [] }: FileData, rules: readonly string[], places: Places): SuiteProblem[] {
  const known = new Set(rules)
  return Object.entries({ accept, off }).flatMap(([list, entries]) =>
    entries.flatMap(({ rule }, index) => {
      if (known.has(rule)) return []
      const near = rules.find((each) => each.endsWith(`/${rule}`)) ?? nearestName(rule, rules)
      const hint = near === null ? 'Ids are listed by: svc docs qa-observe' : `Did you mean ${near}?`
      return { place: places.of([list, index, 'rule']), message: `There is no rule ${rule}.`, hint }
    }),
  )
}

function emptyPlans({ expect: planned = [] }: FileData, places: Places): SuiteProblem[] {
  return planned.flatMap(({ surface, format, position }, index) => {
    if (surface !== undefined || format !== undefined || position !== undefined) return []
    const message = 'This placement has neither surface nor format nor position, so any would match it.'
    return { place: places.of(['expect', index]), message, hint: 'For example: { surface: chat, format: banner }' }
  })
}
