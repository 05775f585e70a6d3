/** `svc browser`. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'

export const browser: Noun = {
  summary: 'Get the activation token that a page needs',
  commands: [
    endpointCommand('browser.activate', {
      details:
        'Sends the settings publishable_key and origin; a running sandbox provides both. Use the token with --secret-key TOKEN.',
      examples: ['browser activate', 'browser activate --origin http://localhost:5173 -o json'],
      defaults: ({ settings }) =>
        settings.publishable_key === null ? {} : { publishable_key: settings.publishable_key },
    }),
  ],
}
