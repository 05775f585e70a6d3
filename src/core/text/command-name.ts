/** Commands in advice, by the name that the program was called by. */

/** The first words of commands, without which `svc` is a word of a sentence. A test compares them with src/program.ts. */
export const firstWords: ReadonlySet<string> = new Set([
  ...['start', 'open', 'sandbox', 'exec', 'demand', 'trigger', 'placements', 'explain', 'beacons', 'api'],
  ...['observe', 'qa'],
  ...['creatives', 'requests', 'evidence', 'bundle', 'record', 'contract', 'init', 'docs', 'doctor', 'agent', 'config'],
  ...['team', 'help'],
])
/** Neither the end of a path, nor with its runner before it. */
const called = /(?<![\w/.-]|npx )svc(?= ([a-z]+)\b)/g

/** Returns advice with its commands as they are typed here: with the runner that found it. */
export function withCommandName(advice: string, command_name: string): string {
  return advice.replace(called, (svc, word: string) => (firstWords.has(word) ? command_name : svc))
}
