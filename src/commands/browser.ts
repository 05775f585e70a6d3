import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { Noun } from '../cli/run/command.ts'

export const browser: Noun = {
  summary: 'What a page does before its first placement',
  commands: [
    endpointCommand('browser.activate', {
      details:
        'The key is the setting publishable_key, the Origin header the setting origin; both come from a running sandbox by themselves. Use the token with --secret-key TOKEN.',
      examples: ['browser activate', 'browser activate --origin http://localhost:5173 -o json'],
      defaults: ({ settings }) =>
        settings.publishable_key === null ? {} : { publishable_key: settings.publishable_key },
    }),
  ],
}
