/** The emulator as it is shipped, for the load generator: a file database, rate limits off, journal on. */
const { startSandbox } = (await import('../dist/sandbox.js' as string)) as typeof import('../sandbox/index.ts')
const sandbox = await startSandbox({ database: process.argv[2]!, rate_limit: 'off' })
process.stdout.write(`${JSON.stringify({ url: sandbox.url })}\n`)
process.on('SIGTERM', () => void sandbox.close().then(() => process.exit(0)))
