import { Chat } from '../components/Chat'
import { readConsent, viewOf } from '../lib/consent-cookie'
import { serviceUrl } from '../lib/settings'

export default async function Page() {
  const consent = await readConsent()
  const base_url = serviceUrl()
  return (
    <Chat consent={consent && viewOf(consent)} renderer_url={base_url === '' ? null : `${base_url}/v1/render.js`} />
  )
}
