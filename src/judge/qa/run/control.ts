/** The control plane of a target, as the runner calls it. */
import { contract, type EndpointId } from '#contract/index.ts'
import { fillPath } from '#foundation/http.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { explainBody } from '../expect/expectations.ts'
import type { HttpClient, HttpResponse } from './http-client.ts'

/** Calls the control plane for the runner, not for a step. Throws NoResponseError or ControlError. */
export type Control = <Body = Json>(
  id: EndpointId,
  params?: Readonly<Record<string, string>>,
  body?: Json,
  signal?: AbortSignal,
) => Promise<Body>

/** The control plane refused what the runner itself needs. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
}

/** The maximum duration of a call of the runner: that of a step, since it is often a part of one. */
const timeoutMs = 10_000

/** Returns the control plane at a URL; `headers` are those that it requires. */
export function openControl(http: HttpClient, base_url: string, headers: Readonly<Record<string, string>>): Control {
  return async (id, params = {}, body, signal = AbortSignal.timeout(timeoutMs)) => {
    const { method, path: template, status } = contract[id]
    const path = fillPath(template, params)
    const json =
      body === undefined ? null : { text: JSON.stringify(body), type: { 'content-type': 'application/json' } }
    const request = { method, url: base_url + path, headers: { ...headers, ...json?.type }, body: json?.text ?? null }
    const response = await http.send(request, signal)
    if (response.status !== status) throw new ControlError(refusal(method, path, response))
    return JSON.parse(response.text)
  }
}

function refusal(method: string, path: string, { status, text }: HttpResponse): string {
  const body = parseJson(text)
  const message = valueAt(body, 'message')
  const said = typeof message === 'string' ? [message, ...explainBody(body)].join(' ') : text
  return `${method} ${path} responded ${status}: ${said.replace(/\s+/g, ' ').slice(0, 400)}`
}
