/** A database file whose demo project has other settings than the seeded ones, for `openStage({ database })`. */
import { join } from 'node:path'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { startSandbox } from '#sandbox/index.ts'
import { edit, folder } from '#tests/http/stage.ts'

/** Creates the file. It is removed, with its folder, at the end of its scope. */
export async function databaseWith(settings: Partial<ProjectSettings>): Promise<{ path: string } & Disposable> {
  const place = folder()
  const path = join(place.path, 'sandbox.db')
  await (await startSandbox({ database: path })).close()
  edit(path, (db) => {
    const seeded = db.prepare("SELECT settings FROM project WHERE client_id = 'proj_demo'").pluck().get() as string
    const changed = JSON.stringify({ ...JSON.parse(seeded), ...settings })
    db.prepare("UPDATE project SET settings = ? WHERE client_id = 'proj_demo'").run(changed)
  })
  return { path, [Symbol.dispose]: () => place[Symbol.dispose]() }
}
