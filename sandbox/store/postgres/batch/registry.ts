/** The part of a batch that changes rarely: projects, keys, the clock and the fault rules. Other nodes are notified. */
import { parseMeta, required, type StoredProject, toProject } from '../../rows.ts'
import { type ClockRow, type FaultState, type KeyListRow, type ProjectRow, StorageError } from '../../store.ts'
import type { AddedKey } from '../../writes/transaction.ts'
import type { MetaName, StoredKey } from '../rows.ts'
import { encodeBytes, type JsonRow } from './json.ts'
import type { Loaded } from './load.ts'

/** Tables that batches add rows to, each in one statement. */
export const addedTables = [
  'project',
  'api_key',
  'consent',
  'job',
  'slot',
  'callback',
  'activation',
  'beacon',
  'aside_beacon',
] as const
type AddedTable = (typeof addedTables)[number]

/** Tables whose identifiers are counted in the database. Those of the others end with the number of their node. */
const countedTables: ReadonlySet<AddedTable> = new Set(['project', 'api_key'])

export type OwnsId = (id: number) => boolean

/** The notifications to other nodes, sent with the commit. */
type Notice = 'projects' | MetaName

export class RegistryBatch {
  readonly rows = new Map<AddedTable, JsonRow[]>()
  /** By identifier: the last settings of a project, the revocation of a key. */
  readonly savedSettings = new Map<number, JsonRow>()
  readonly revocations = new Map<number, JsonRow>()
  /** By name, as JSON. */
  readonly values = new Map<MetaName, string>()
  readonly notices = new Set<Notice>()
  protected readonly loaded: Loaded
  private readonly ownsId: OwnsId
  private readonly projects = new Map<number, StoredProject>()
  private readonly keys = new Map<number, StoredKey>()
  private readonly lastIds: Loaded['lastIds']

  /** @param ownsId whether this node may create rows with an identifier */
  constructor(loaded: Loaded, ownsId: OwnsId) {
    this.loaded = loaded
    this.ownsId = ownsId
    this.lastIds = { ...loaded.lastIds }
  }

  lastId(table: 'project' | 'api_key'): number {
    return this.lastIds[table]
  }

  hasProject(client_id: string): boolean {
    return [...this.loaded.projects.values(), ...this.projects.values()].some((row) => row.client_id === client_id)
  }

  insertProject(project: StoredProject): void {
    this.add('project', { ...project })
    this.projects.set(project.id, project)
    this.lastIds.project = project.id
    this.notices.add('projects')
  }

  findProject(id: number): ProjectRow | null {
    const stored = this.projects.get(id) ?? this.loaded.projects.get(id)
    return stored === undefined ? null : toProject(stored)
  }

  saveSettings(id: number, config_revision: number, settings: string): void {
    const stored = required(this.projects.get(id) ?? this.loaded.projects.get(id), 'a project')
    this.projects.set(id, { ...stored, config_revision, settings })
    this.savedSettings.set(id, { id, config_revision, settings })
    this.notices.add('projects')
  }

  insertKey({ hash, ...key }: AddedKey): void {
    this.add('api_key', { ...key, hash: encodeBytes(hash) })
    this.keys.set(key.id, { ...key, revoked_at_ms: null })
    this.lastIds.api_key = key.id
    this.notices.add('projects')
  }

  findKey(id: number): KeyListRow | null {
    const stored = this.keys.get(id) ?? this.loaded.keys.get(id)
    if (stored === undefined) return null
    const { project_id, ...key } = stored
    return { ...key, project: required(this.findProject(project_id), 'the project of a key') }
  }

  revokeKey(id: number, revoked_at_ms: number): void {
    const stored = required(this.keys.get(id) ?? this.loaded.keys.get(id), 'a key')
    this.keys.set(id, { ...stored, revoked_at_ms })
    this.revocations.set(id, { id, revoked_at_ms })
    this.notices.add('projects')
  }

  findClock(): ClockRow | null {
    return this.findValue('clock')
  }

  saveClock(clock: ClockRow): void {
    this.saveValue('clock', clock)
  }

  findFaults(): FaultState | null {
    return this.findValue('faults')
  }

  saveFaults(faults: FaultState): void {
    this.saveValue('faults', faults)
  }

  /** @throws StorageError when the identifier is of a number that another node may have */
  protected add(table: AddedTable, row: JsonRow): void {
    if (!countedTables.has(table) && !this.ownsId(Number(row.id))) throw numberLost()
    const rows = this.rows.get(table)
    if (rows === undefined) this.rows.set(table, [row])
    else rows.push(row)
  }

  private findValue<Value>(name: MetaName): Value | null {
    const text = this.values.get(name) ?? this.loaded.values.get(name)
    return text === undefined ? null : parseMeta<Value>(text)
  }

  private saveValue(name: MetaName, value: unknown): void {
    this.values.set(name, JSON.stringify(value))
    this.notices.add(name)
  }
}

/** The identifiers of a write are those of a node that did not respond for long: another one may create the same. */
function numberLost(): StorageError {
  return new StorageError(new Error('the number of this node was not renewed in time'), 'write', 1)
}
