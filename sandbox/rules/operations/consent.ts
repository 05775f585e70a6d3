/** Consent of a session: set (A62, A66), and listed revision by revision. */

import { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { type ConsentDraft, type ConsentRecord, createSnapshot, resolveSentConsent } from '#domain/consent.ts'
import { consentEntry } from '#domain/evidence.ts'
import type { ConsentWrite, EvidenceDraft, ProjectRow } from '#store/store.ts'
import { addWarning, type Operation, requireCaller, type Services } from './context.ts'

/** Attempts to write when other requests change the same consent. */
const attempts = 8

export const setConsent: Operation<Contract['consent.set']> = async (services, context, { body }) => {
  const { project } = requireCaller(context)
  if (body.client_id !== project.client_id) throw new ApiError('project_mismatch')
  context.subject.session_id = body.session_id
  checkEnd(body.expires_at_ms, context.now_ms)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const stored = await services.store.findLatestConsent(project.id, body.session_id)
    const present = stored?.revision ?? 0
    if (body.expected_revision !== undefined && body.expected_revision !== present) {
      throw new ApiError('consent_revision_conflict', {
        message: `The consent of this session is at revision ${present}, not ${body.expected_revision}.`,
      })
    }
    const { draft, keepsPurposes } = resolveSentConsent(project.settings.consent, body, stored, context.now_ms)
    const record =
      draft === null
        ? stored
        : await services.store.saveConsent(consentWrite(services, project, body.session_id, { draft, stored }))
    if (record === null) continue
    if (keepsPurposes) addWarning(context, 'consent_purposes_kept')
    return {
      ok: true,
      consent_id: encodeId('cns', record.id),
      authoritative_consent: createSnapshot(record, context.now_ms),
      request_id: context.request_id,
    }
  }
  throw new Error('the consent of this session changes faster than it can be written')
}

/** @throws ApiError 400 for an end that has passed, or is in seconds */
function checkEnd(expires_at_ms: number | undefined, now_ms: number): void {
  if (expires_at_ms === undefined || expires_at_ms > now_ms) return
  const inSeconds = expires_at_ms >= 1e9 && expires_at_ms < 1e12
  throw new ApiError(inSeconds ? 'expires_at_in_seconds' : 'expires_at_past', {
    fields: [
      {
        path: 'expires_at_ms',
        message: inSeconds ? 'is in seconds' : 'has passed',
        expected: `Unix epoch milliseconds after ${now_ms}`,
      },
    ],
  })
}

/** Returns the write that stores a consent revision or its renewal, with its evidence entry (A77). */
export function consentWrite(
  services: Services,
  project: ProjectRow,
  session_id: string,
  { draft, stored }: { draft: ConsentDraft; stored: ConsentRecord | null },
): ConsentWrite {
  const id = draft.renews && stored !== null ? stored.id : services.platform.newId()
  const evidence: EvidenceDraft = {
    kind: 'consent',
    ref: id,
    at_ms: draft.updated_at_ms,
    build: (seq) =>
      consentEntry({
        seq,
        at_ms: draft.updated_at_ms,
        client_id: project.client_id,
        consent_id: encodeId('cns', id),
        session_id,
        lifecycle_state: draft.state,
        revision: draft.revision,
        source: draft.source,
        semantic_targeting: draft.semantic_targeting,
        prompt_shared: draft.prompt_shared,
        expires_at_ms: draft.expires_at_ms,
      }),
  }
  return { id, project_id: project.id, session_id, draft, expected: stored, evidence }
}
