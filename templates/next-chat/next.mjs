// The `next` command. Next.js reports how it is used unless this is set before it starts.
process.env.NEXT_TELEMETRY_DISABLED = '1'
await import('next/dist/bin/next')
