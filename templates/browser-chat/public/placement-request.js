/** The request to the service. The question is sent only if the user agreed to share it. */
export function placementRequest({ session_id, purposes }, question, width) {
  return {
    session_id,
    job_type: 'chat',
    consent: { ...purposes, consent_source: 'svc_consent' },
    ...(purposes.prompt_shared && { prompt: { text: question } }),
    slot_hint: { position: 'inline', max_width: Math.max(1, Math.floor(width)), max_height: 400 },
    // A native card takes the colours and width of the page. Add banner and clip here to allow them too.
    overrides: { allowed_formats: ['native'], native_template_id: width < 480 ? 'card' : 'list_item' },
  }
}
