/** The activation of a publishable key as a page sees it. */
import type { ActivationResult } from '#contract/resources/browser.ts'
import { activate } from './activation.ts'
import { requestDecision } from './decision.ts'
import { whenActivated } from './dom.ts'
import { type Activation, findObstacle, type Renderer } from './renderer.ts'
import { describeProblem } from './request.ts'

/** Turns without an endpoint use it automatically. */
export interface BrowserActivation extends Readonly<Pick<ActivationResult, 'project_id' | 'key_id' | 'expires_at_ms'>> {
  /** Resolves with the decided placement response, or null after an error event. `client_id` is filled in. */
  requestPlacement(body?: object, signal?: AbortSignal): Promise<unknown>
}

/** `script_url` is where the script came from: the requests are sent there. */
export async function activateBrowser(
  renderer: Renderer,
  script_url: string | null,
  options: { publishableKey: string },
): Promise<BrowserActivation | null> {
  const obstacle = findObstacle()
  if (obstacle) return renderer.refuse(obstacle)
  try {
    if (!script_url) throw new Error('No script element')
    await new Promise<void>(whenActivated)
    const base_url = new URL(script_url).origin
    const activation = await activate(base_url, String(options?.publishableKey ?? ''), renderer.clock)
    renderer.activation = activation
    return browserActivation(renderer, activation)
  } catch (problem) {
    return renderer.refuse({ code: 'activation_failed', ...describeProblem(problem) })
  }
}

function browserActivation(renderer: Renderer, activation: Activation): BrowserActivation {
  return Object.assign(describeActivation(activation), {
    requestPlacement: (body?: object, signal?: AbortSignal) =>
      requestDecision({
        request: () => activation.request(body, signal),
        poll: (slot_id, query) => activation.poll(slot_id, query, signal),
        clock: renderer.clock,
        signal,
      }).then(
        ({ body }) => body,
        (problem) => renderer.refuse({ code: 'request_failed', ...describeProblem(problem) }),
      ),
  })
}

/** Returns everything but the token. */
export function describeActivation(activation: Activation): Omit<BrowserActivation, 'requestPlacement'> {
  const { project_id, key_id } = activation.result()
  return {
    project_id,
    key_id,
    get expires_at_ms() {
      return activation.result().expires_at_ms
    },
  }
}
