/**
 * A frame or a render.js that comes from another address than the service, in words: those of the console on the page and of
 * `svc observe`.
 */
import { isSameService, withoutQuery } from '#foundation/http.ts'
import { redactSecrets } from '#foundation/redaction.ts'

interface Words {
  message: string
  fix: string
}

/** Whether an address is one at which a service hands out frames. An address that cannot be read is none. */
export function isFrameAddress(url: string, base_url: string): boolean {
  return URL.canParse(url) && isSameService(url, base_url) && new URL(url).pathname.startsWith('/v1/render/')
}

/** Of a frame whose address is not that of the service, and which the service was never asked for. */
export function describeChangedFrame(slot_id: string | undefined, frame_url: string, base_url: string): Words {
  const frame = slot_id === undefined ? 'The frame' : `The frame of ${slot_id}`
  const { origin } = new URL(base_url)
  return {
    message: `${frame} was loaded from ${redactSecrets(withoutQuery(frame_url))}, and never from the service, ${origin}/v1/render/: its frame_url was changed.`,
    fix: 'Let your endpoint, and the page, pass frame_url on unchanged.',
  }
}

/** Of a page whose render.js is that of another service than its backend's. `script_url`: its address, or that of its server. */
export function describeOtherRenderer(script_url: string, service_url: string): Words {
  const { origin } = new URL(script_url)
  return {
    message: `The page loads render.js from ${origin}, and its placements come from ${new URL(service_url).origin}.`,
    fix: fixOfAddress(script_url),
  }
}

/** An address that a page or its build has as it is. */
export function fixOfAddress(url: string): string {
  const { origin } = new URL(url)
  return `The page has ${origin} in it. Let the server that sends it put the value of SVC_BASE_URL there: html.replaceAll('${origin}', process.env.SVC_BASE_URL).`
}
