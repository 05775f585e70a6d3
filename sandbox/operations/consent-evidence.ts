import { encodeId } from '../../src/contract/ids.ts'
import { consentEntry } from '../domain/evidence.ts'
import type { ConsentWrite, EvidenceDraft, ProjectRow } from '../store/store.ts'

/** The evidence entry of a consent revision or its renewal (A77). */
export function consentEvidence(project: ProjectRow, write: Omit<ConsentWrite, 'evidence'>): EvidenceDraft {
  const { draft } = write
  return {
    kind: 'consent',
    ref: write.id,
    at_ms: draft.updated_at_ms,
    build: (seq) =>
      consentEntry({
        seq,
        at_ms: draft.updated_at_ms,
        client_id: project.client_id,
        consent_id: encodeId('cns', write.id),
        session_id: write.session_id,
        lifecycle_state: draft.state,
        revision: draft.revision,
        source: draft.source,
        semantic_targeting: draft.semantic_targeting,
        prompt_shared: draft.prompt_shared,
        expires_at_ms: draft.expires_at_ms,
      }),
  }
}
