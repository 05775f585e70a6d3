/** Exit codes by category. The category is what `-o json` errors carry; `svc help exit-codes` prints the table. */
export const exitCodes = {
  ok: { exit_code: 0, meaning: 'Done. A clean stop of `svc start` by a signal is this too.' },
  unexpected: { exit_code: 1, meaning: 'A failure that is not one of the others; most likely a bug of svc.' },
  usage: { exit_code: 2, meaning: 'The command line, a setting or a config file is wrong. Nothing was sent.' },
  service: { exit_code: 3, meaning: 'The API answered an error, or an answer off its contract.' },
  credentials: { exit_code: 4, meaning: 'A credential or consent is missing, unknown, expired or not allowed.' },
  expectation: { exit_code: 5, meaning: 'An expectation or check failed: --expect, evidence verify.' },
  no_fill: { exit_code: 6, meaning: 'No fill where --expect fill asked for one.' },
  unreachable: { exit_code: 7, meaning: 'Nothing answers there, or not in time; or no sandbox runs.' },
  busy: { exit_code: 8, meaning: 'The port or the database is in use.' },
  interrupted: { exit_code: 130, meaning: 'Interrupted by Ctrl-C.' },
} as const satisfies Record<string, { exit_code: number; meaning: string }>

export type Category = keyof typeof exitCodes

/** The category of an exit code, as the contract's error table gives it. */
export function categoryOf(exit_code: number): Category {
  const categories = Object.keys(exitCodes) as Category[]
  return categories.find((category) => exitCodes[category].exit_code === exit_code) ?? 'unexpected'
}
