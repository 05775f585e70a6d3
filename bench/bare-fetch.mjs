// The baseline for `svc placements create`: the same request by a bare fetch. JavaScript, so no types have to be
// stripped.
const { SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY } = process.env
const response = await fetch(`${SVC_BASE_URL}/v1/placements`, {
  method: 'POST',
  headers: { authorization: `Bearer ${SVC_SECRET_KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ client_id: SVC_CLIENT_ID, session_id: 'sess_bench', job_type: 'chat' }),
})
console.log(await response.json())
