/** The activation of a publishable key as a page sees it: a part of render.js that loads when a page activates one. */
import type { ActivationResult } from '#contract/resources/browser.ts'
import { activate } from './activation.ts'
import type { Activation, Renderer } from './renderer.ts'

/** Turns without an endpoint use it automatically. */
export interface BrowserActivation extends Readonly<Pick<ActivationResult, 'project_id' | 'key_id' | 'expires_at_ms'>> {
  /** Resolves with the decided placement response, or null after an error event. `client_id` is filled in. */
  requestPlacement(body?: object, signal?: AbortSignal): Promise<unknown>
}

/** `script_url` is where the script came from: the requests are sent there. */
export async function activateBrowser(
  renderer: Renderer,
  script_url: string,
  options: { publishableKey: string },
): Promise<BrowserActivation | null> {
  try {
    await new Promise<void>(renderer.whenActivated)
    const base_url = new URL(script_url).origin
    const activated = await activate(renderer, base_url, String(options?.publishableKey ?? ''))
    const activation: Activation = { ...activated, described: describeActivation(activated) }
    renderer.activation = activation
    return browserActivation(renderer, activation)
  } catch (problem) {
    return renderer.refuse({ code: 'activation_failed', ...renderer.describeProblem(problem) })
  }
}

function browserActivation(renderer: Renderer, activation: Activation): BrowserActivation {
  return Object.assign(describeActivation(activation), {
    requestPlacement: (body?: object, signal?: AbortSignal) =>
      renderer
        .requestDecision({
          request: () => activation.request(body, signal),
          poll: (slot_id, query) => activation.poll(slot_id, query, signal),
          clock: renderer.clock,
          signal,
        })
        .then(
          ({ body }) => body,
          (problem) => renderer.refuse({ code: 'request_failed', ...renderer.describeProblem(problem) }),
        ),
  })
}

/** Returns everything but the token. */
function describeActivation({ result }: Pick<Activation, 'result'>): Omit<BrowserActivation, 'requestPlacement'> {
  const { project_id, key_id } = result()
  return {
    project_id,
    key_id,
    get expires_at_ms() {
      return result().expires_at_ms
    },
  }
}
