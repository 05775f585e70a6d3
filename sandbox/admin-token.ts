/** Tokens for the control plane, and the admin token of a shared store. */
import { randomBytes } from 'node:crypto'
import { sandboxClock } from '#platform/clock.ts'
import { sha256 } from '#platform/platform.ts'

export function createTokenText(): string {
  return `sbx_${randomBytes(24).toString('base64url')}`
}

/** Replaces the admin token of a shared store, for the holder of its URL. @throws SandboxError when it cannot be opened */
export async function resetAdminToken(store: string): Promise<{ name: string; token: string }> {
  const [{ connectDatabase }, { explain }, { replaceAdmin }] = await Promise.all([
    import('#store/postgres/servers/open.ts'),
    import('#store/postgres/failures.ts'),
    import('#store/postgres/access.ts'),
  ])
  const database = await connectDatabase({ url: store, namespace: null, report: () => {} })
  const createToken = () => {
    const text = createTokenText()
    return { text, hash: sha256(text) }
  }
  try {
    return await replaceAdmin(database, sandboxClock().now(), createToken)
  } catch (error) {
    throw explain(error, database.location)
  } finally {
    await database.close()
  }
}
