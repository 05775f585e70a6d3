/** Where the pooler is that some tests need: pgbouncer, which `.ci/install-pooler` installs. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of pgbouncer, or undefined where it is not installed. */
export const poolerProgram = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path))
