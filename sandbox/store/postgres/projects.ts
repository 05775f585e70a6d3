/**
 * Projects, keys and activations. Projects and keys are few and read by every request, so they are cached for as long as
 * this node is notified of changes; every change of another node clears them.
 */
import { ownSettings, type StoredProject, toPage, toProject } from '../rows.ts'
import {
  type KeyListRow,
  type KeyRow,
  type NewActivation,
  type NewKey,
  type ProjectRow,
  type ProjectStore,
  StorageError,
} from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import { newKey, newProject } from '../writes/projects.ts'
import type { Connection } from './group-commit.ts'
import type { Link } from './open.ts'

type StoredKey = Omit<KeyListRow, 'project'> & { project_id: number }

export type ProjectTable = ReturnType<typeof projectTable>

const projectColumns = 'id, client_id, tenant_id, config_revision, settings'
const keyColumns = 'id, project_id, class, mode, created_at_ms, revoked_at_ms'

/** @param mayCache whether changes of other nodes would be noticed */
export function projectTable({ read, change }: Connection, mayCache: () => boolean) {
  let projects = new Map<number, Promise<ProjectRow | null>>()
  let keys = new Map<string, Promise<KeyRow | null>>()

  /** Concurrent requests share a read; a missing row is read again. */
  const cached = <Key, Row>(rows: Map<Key, Promise<Row | null>>, key: Key, find: () => Promise<Row | null>) => {
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

  const findById = (id: number): Promise<ProjectRow | null> =>
    cached(projects, id, async () => {
      const [row] = await read<StoredProject>(`SELECT ${projectColumns} FROM project WHERE id = $1`, [id])
      return row === undefined ? null : toProject(row)
    })

  const project = async (id: number): Promise<ProjectRow> => {
    const row = await findById(id)
    if (row === null) throw new StorageError(new Error(`project ${id} does not exist`), 'read')
    return row
  }

  const withProject = async <Row extends { project_id: number }>({ project_id, ...rest }: Row) => ({
    ...rest,
    project: await project(project_id),
  })

  const found = async <Row extends { project_id: number }>(row: Row | undefined) =>
    row === undefined ? null : withProject(row)

  const clear = () => {
    // Replaced, not emptied: reads under way belong to the old maps.
    projects = new Map()
    keys = new Map()
  }

  const lastId = async (link: Link, table: 'project' | 'api_key'): Promise<number> => {
    const [row] = await link.query<{ id: number }>(`SELECT coalesce(max(id), 0) AS id FROM ${table}`)
    return row!.id
  }

  const addKey = async (link: Link, project_id: number, key: NewKey, at_ms: number): Promise<number> => {
    const row = newKey(await lastId(link, 'api_key'), project_id, key, at_ms)
    await link.run(
      'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6)',
      [row.id, project_id, row.class, row.mode, row.hash, at_ms],
    )
    return row.id
  }

  const keyRow = async (link: Link, id: number): Promise<KeyListRow | null> => {
    const [row] = await link.query<StoredKey>(`SELECT ${keyColumns} FROM api_key WHERE id = $1`, [id])
    if (row === undefined) return null
    const { project_id, ...key } = row
    return { ...key, project: (await projectRow(link, project_id))! }
  }

  const projectRow = async (link: Link, id: number): Promise<ProjectRow | null> => {
    const [row] = await link.query<StoredProject>(`SELECT ${projectColumns} FROM project WHERE id = $1`, [id])
    return row === undefined ? null : toProject(row)
  }

  /** Clears the cache once the change is committed, and again after reads that overtook it. */
  const changed = async <Result>(result: Promise<Result>): Promise<Result> => {
    try {
      return await result
    } finally {
      clear()
    }
  }

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
    insertProject: (client_id, settings, newKeys, at_ms) =>
      changed(
        change([0], async (batch, link) => {
          const row = newProject(await lastId(link, 'project'), client_id, settings)
          const { id, tenant_id, config_revision } = row
          const { count } = await link.run(
            `INSERT INTO project (${projectColumns}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
            [id, client_id, tenant_id, config_revision, row.settings],
          )
          if (count === 0) return null
          await link.run('INSERT INTO chain (project_id, seq) VALUES ($1, 0) ON CONFLICT DO NOTHING', [id])
          for (const key of newKeys) await addKey(link, id, key, at_ms)
          batch.notices.add('projects')
          return projectRow(link, id)
        }),
      ),
    saveSettings: (id, expected_revision, settings) =>
      changed(
        change([id], async (batch, link) => {
          const { count } = await link.run(
            'UPDATE project SET settings = $1, config_revision = config_revision + 1 WHERE id = $2 AND config_revision = $3',
            [JSON.stringify(ownSettings(settings)), id, expected_revision],
          )
          if (count === 0) return null
          batch.notices.add('projects')
          return projectRow(link, id)
        }),
      ),

    findKey: (hash) =>
      cached(keys, Buffer.from(hash).toString('latin1'), async () => {
        const [row] = await read<Omit<StoredKey, 'created_at_ms'>>(
          'SELECT id, project_id, class, mode, revoked_at_ms FROM api_key WHERE hash = $1',
          [hash],
        )
        return found(row)
      }),
    async findKeyById(id) {
      const [row] = await read<StoredKey>(`SELECT ${keyColumns} FROM api_key WHERE id = $1`, [id])
      return found(row)
    },
    async listKeys(project_id, { limit, before }) {
      const rows = await read<StoredKey>(
        `SELECT ${keyColumns} FROM api_key WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
        [project_id, before ?? Number.MAX_SAFE_INTEGER, limit + 1],
      )
      return toPage(await Promise.all(rows.map(withProject)), limit)
    },
    insertKey: (project_id, key, at_ms) =>
      changed(
        change([0], async (batch, link) => {
          batch.notices.add('projects')
          const row = await keyRow(link, await addKey(link, project_id, key, at_ms))
          return row!
        }),
      ),
    revokeKey: (id, at_ms) =>
      changed(
        change([0], async (batch, link) => {
          await link.run('UPDATE api_key SET revoked_at_ms = $1 WHERE id = $2 AND revoked_at_ms IS NULL', [at_ms, id])
          batch.notices.add('projects')
          return keyRow(link, id)
        }),
      ),

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

  return {
    project,
    /** Returns the projects with these numbers, read together. */
    async projects(ids: readonly number[]): Promise<Map<number, ProjectRow>> {
      const unique = [...new Set(ids)]
      return new Map(await Promise.all(unique.map(async (id) => [id, await project(id)] as const)))
    },
    clear,
    methods,
  }
}
