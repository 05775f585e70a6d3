/**
 * Projects, keys and activations. Projects and keys are few and read by every request, so they are cached for as long as
 * this node is notified of changes; every change of another node clears them.
 */
import { type StoredProject, toPage, toProject } from '../rows.ts'
import { type KeyRow, type NewActivation, type ProjectRow, type ProjectStore, StorageError } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Connection } from './group-commit.ts'
import { keyColumns, projectColumns, type StoredKey } from './rows.ts'

export type ProjectTable = ReturnType<typeof projectTable>

/** @param mayCache whether changes of other nodes would be noticed */
export function projectTable({ read }: Connection, mayCache: () => boolean) {
  const { project, withProject, findProjects, findKey, clear } = cachedProjects(read, mayCache)

  const methods: Omit<ProjectStore, keyof WriteMethods> = {
    async findProject(client_id) {
      const [row] = await read<{ id: number }>('SELECT id FROM project WHERE client_id = $1', [client_id])
      return row === undefined ? null : project(row.id)
    },
    findProjectById: project,
    async listProjects() {
      const rows = await read<StoredProject>(`SELECT ${projectColumns} FROM project ORDER BY id`)
      return rows.map(toProject)
    },
    findKey: (hash) =>
      findKey(Buffer.from(hash).toString('latin1'), async () => {
        const [row] = await read<Omit<StoredKey, 'created_at_ms'>>(
          'SELECT id, project_id, class, mode, revoked_at_ms FROM api_key WHERE hash = $1',
          [hash],
        )
        return row === undefined ? null : withProject(row)
      }),
    async findKeyById(id) {
      const [row] = await read<StoredKey>(`SELECT ${keyColumns} FROM api_key WHERE id = $1`, [id])
      return row === undefined ? null : withProject(row)
    },
    async listKeys(project_id, { limit, before }) {
      const rows = await read<StoredKey>(
        `SELECT ${keyColumns} FROM api_key WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
        [project_id, before ?? Number.MAX_SAFE_INTEGER, limit + 1],
      )
      return toPage(await Promise.all(rows.map(withProject)), limit)
    },
    async findActivation(id) {
      const [row] = await read<NewActivation & { revoked_at_ms: number | null }>(
        `SELECT activation.*, api_key.revoked_at_ms FROM activation LEFT JOIN api_key ON api_key.id = key_id
         WHERE activation.id = $1`,
        [id],
      )
      if (row === undefined) return null
      return { ...(await withProject(row)), is_key_revoked: row.revoked_at_ms !== null }
    },
  }

  return { project, findProjects, clearAfter, clear, methods }

  /** Returns the writes of projects and keys; each clears the cache once it is committed, or its outcome is unknown. */
  function clearAfter({ insertProject, saveSettings, insertKey, revokeKey }: WriteMethods) {
    return {
      insertProject: (...write) => insertProject(...write).finally(clear),
      saveSettings: (...write) => saveSettings(...write).finally(clear),
      insertKey: (...write) => insertKey(...write).finally(clear),
      revokeKey: (...write) => revokeKey(...write).finally(clear),
    } satisfies Partial<WriteMethods>
  }
}

/** Reads projects and keys, and keeps them. */
function cachedProjects(read: Connection['read'], mayCache: () => boolean) {
  let projects = new Map<number, Promise<ProjectRow | null>>()
  let keys = new Map<string, Promise<KeyRow | null>>()

  return {
    project,
    withProject,
    findProjects,
    findKey: (hash: string, find: () => Promise<KeyRow | null>) => shareRead(keys, hash, find),
    clear,
  }

  /** @throws StorageError when there is no such project */
  async function project(id: number): Promise<ProjectRow> {
    const row = await shareRead(projects, id, () => findProject(id))
    if (row === null) throw new StorageError(new Error(`project ${id} does not exist`), 'read')
    return row
  }

  async function findProject(id: number): Promise<ProjectRow | null> {
    const [row] = await read<StoredProject>(`SELECT ${projectColumns} FROM project WHERE id = $1`, [id])
    return row === undefined ? null : toProject(row)
  }

  async function withProject<Row extends { project_id: number }>({ project_id, ...rest }: Row) {
    return { ...rest, project: await project(project_id) }
  }

  /** Returns the projects with these numbers, read together. */
  async function findProjects(ids: readonly number[]): Promise<Map<number, ProjectRow>> {
    const unique = [...new Set(ids)]
    return new Map(await Promise.all(unique.map(async (id) => [id, await project(id)] as const)))
  }

  /** Concurrent requests share a read; a missing row is read again. */
  function shareRead<Key, Row>(rows: Map<Key, Promise<Row | null>>, key: Key, find: () => Promise<Row | null>) {
    const known = rows.get(key)
    if (known !== undefined && mayCache()) return known
    const found = find()
    rows.set(key, found)
    found.then(
      (row) => row === null && rows.get(key) === found && rows.delete(key),
      () => rows.get(key) === found && rows.delete(key),
    )
    return found
  }

  function clear(): void {
    // Replaced, not emptied: reads under way belong to the old maps.
    projects = new Map()
    keys = new Map()
  }
}
