/**
 * A frame that is not the service's: it uses the protocol of sandbox/pages/renderer/messages.ts, and misuses it.
 *
 * Its script runs once the host page has handed over the port. It has `say(message)`, `nonce`, and `settings`, what the
 * service's own document would have sent in `ready`, the beacon token included.
 */
import type { BrowserContext } from 'playwright-core'
import type { FrameSettings } from '#renderer/messages.ts'

export const frameDocuments = '**/v1/render/ast_*'

export async function replaceFrames(context: BrowserContext, script: string): Promise<void> {
  await context.route(frameDocuments, async (route) => {
    const html = await (await route.fetch()).text()
    const [, json = '{}'] = /<script type="application\/json" id="settings"[^>]*>(.*?)<\/script>/s.exec(html) ?? []
    const settings = JSON.parse(json) as FrameSettings
    await route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html><title>Hostile</title><script>
onmessage = ({ data, ports: [port] }) => {
  const { nonce } = data
  const settings = ${JSON.stringify(settings)}
  const say = (message) => port.postMessage(message)
  ${script}
}
</script>`,
    })
  })
}

/** The messages of a correct frame. */
export const honestly = `say({ t: 'ready', nonce, ...settings }); say({ t: 'rendered' });`
