/** `svc team`: a sandbox that several people share. */
import type { Noun } from '#cli/run/command.ts'
import { audit } from './audit.ts'
import { migrate } from './migrate.ts'
import { namespaces } from './namespaces.ts'
import { tokens } from './tokens.ts'

export const team: Noun = {
  summary: 'Share a sandbox: tokens, audit, namespaces and the schema of its store',
  commands: [tokens, audit, namespaces, migrate],
}
