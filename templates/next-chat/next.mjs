// The `next` command. Next.js reports how it is used unless this is set before it starts.
process.env.NEXT_TELEMETRY_DISABLED = '1'
// Only this computer: requests of others would be sent with the secret key. In production, a proxy is in front of it.
const [, , command, ...options] = process.argv
if (command !== 'build' && !options.includes('-H')) process.argv.push('-H', 'localhost')
await import('next/dist/bin/next')
