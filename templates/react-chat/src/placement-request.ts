import type { GrantedConsent } from './consent.ts'

/** What is asked of the service. The question goes along only if the user agreed to share it. */
export function placementRequest({ session_id, purposes }: GrantedConsent, question: string, width: number) {
  return {
    session_id,
    job_type: 'chat',
    consent: { ...purposes, consent_source: 'svc_consent' },
    ...(purposes.prompt_shared && { prompt: { text: question } }),
    slot_hint: { position: 'inline', max_width: Math.max(1, Math.floor(width)), max_height: 400 },
    // A native card takes the colours and the width of the page. Name banner and clip here to have them too.
    overrides: { allowed_formats: ['native'], native_template_id: width < 480 ? 'card' : 'list_item' },
  }
}
