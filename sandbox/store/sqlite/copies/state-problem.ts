/**
 * The constraints of a state beyond its schema, since it can come from another machine or from a damaged disk: the few
 * values that everything else depends on. file-worker.ts has what each row must keep to.
 */

import type Database from 'better-sqlite3'
import { ProjectSettings, withDefaults } from '#contract/resources/projects.ts'
import { maxClockMs } from '#contract/resources/sandbox/clock.ts'
import { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'

/** Identifiers and sequences grow: numbers above this leave no room for later ones. */
const largestNumber = 2 ** 52

/** The latest time of a row: the clock runs on after the latest time that it can be set to, and rows expire later. */
export const latestStoredMs = 2 * maxClockMs

const numbered = [
  ['project', 'id'],
  ['api_key', 'id'],
  ['activation', 'id'],
  ['session', 'id'],
  ['consent', 'id'],
  ['job', 'id'],
  ['slot', 'id'],
  ['beacon', 'id'],
  ['aside_beacon', 'id'],
  ['evidence', 'id'],
  ['event', 'seq'],
  ['catalogue', 'id'],
  ['exchange', 'id'],
  ['callback', 'id'],
] as const

/** Tables that a start does not read: damage there is found and reported by whatever reads them. */
const unreadByStart = new Set(['session', 'evidence'])

/**
 * Returns the first problem of the projects, the clock, the fault rules and the numbers, as `table row: problem`. For a
 * start, only in the tables that it reads.
 */
export function stateProblem(db: Database.Database, isStart: boolean): string | null {
  for (const [table, column] of numbered) {
    if (isStart && unreadByStart.has(table)) continue
    // Each in its own query: together they would read the whole table.
    const [least, most] = db
      .prepare(`SELECT (SELECT min(${column}) FROM ${table}), (SELECT max(${column}) FROM ${table})`)
      .raw()
      .safeIntegers()
      .get() as [bigint | null, bigint | null]
    if ((least ?? 1n) < 0n) return `${table} ${least}: ${column} is negative`
    if ((most ?? 1n) > largestNumber) return `${table} ${most}: ${column} is larger than any that is given`
  }
  const projects = db.prepare<[], { id: number; settings: string }>('SELECT id, settings FROM project').all()
  for (const { id, settings } of projects) {
    const own = parseJson(settings)
    if (!isObject(own)) return `project ${id}: settings are not a JSON object`
    const issue = ProjectSettings.safeParse(withDefaults(own as Partial<ProjectSettings>)).error?.issues[0]
    if (issue !== undefined) return `project ${id}: settings.${issue.path.join('.')} ${issue.message}`
  }
  const meta = db.prepare<[], { name: string; value: string }>('SELECT name, value FROM meta').all()
  for (const { name, value } of meta) {
    const isValid = findEntry(metaRules, name)
    if (isValid === undefined) return `meta ${name}: no sandbox has a value of this name`
    if (!isValid(parseJson(value))) return `meta ${name}: its value is not valid`
  }
  return null
}

/** Every value of `meta`, with its check. */
const metaRules = {
  clock: (value) =>
    isObject(value) &&
    Number.isSafeInteger(value.offset_ms) &&
    Math.abs(Number(value.offset_ms)) <= latestStoredMs &&
    (value.frozen_at_ms === null || isTime(value.frozen_at_ms)),
  faults: (value) =>
    isObject(value) &&
    (value.scenario === null || typeof value.scenario === 'string') &&
    isCount(value.added) &&
    Array.isArray(value.rules) &&
    value.rules.every(isStoredFault),
  in_use: (value) => value === true,
  journal_dropped: isCount,
  events_dropped: (value) => isObject(value) && isCount(value.count) && isCount(value.last_seq),
} satisfies Record<string, (value: Json | undefined) => boolean>

export type MetaName = keyof typeof metaRules

function isStoredFault(stored: Json): boolean {
  if (!isObject(stored) || !isObject(stored.rule) || !isObject(stored.count)) return false
  const { key, ...rule } = stored.rule
  const isKey = key === undefined || (isObject(key) && typeof key.shown === 'string' && isCount(key.length))
  return (
    isKey &&
    FaultDraft.safeParse(rule).success &&
    typeof stored.fault_id === 'string' &&
    (stored.scenario === null || typeof stored.scenario === 'string') &&
    isTime(stored.created_at_ms) &&
    isCount(stored.count.matched) &&
    isCount(stored.count.injected)
  )
}

function isTime(value: unknown): boolean {
  return isCount(value) && Number(value) <= latestStoredMs
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
